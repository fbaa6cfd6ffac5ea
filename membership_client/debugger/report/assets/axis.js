// The time axis: local time at round moments, and the exact moment under the pointer.

function drawAxis(c, view, clock, theme, width, height, pointerX) {
  const { step, ticks } = clock.ticks(view.from, view.to, view.width);
  c.fillStyle = theme.colours.paper;
  c.fillRect(0, 0, width, height);
  c.textBaseline = "middle";
  c.font = `500 11px ${theme.sans}`;
  for (const t of ticks) {
    const x = Math.round(view.x(t));
    c.fillStyle = theme.colours.line;
    c.fillRect(x, height - 7, 1, 7);
    if (x < view.left) continue;
    c.fillStyle = theme.colours.soft;
    c.fillText(clock.time(t, step), x + 5, height / 2);
  }
  c.fillStyle = theme.colours.paper;
  c.fillRect(0, 0, view.left - 1, height);
  c.fillStyle = theme.colours.faint;
  c.fillText(clock.day(view.from), 14, height / 2);
  if (pointerX !== null && pointerX >= view.left) drawMoment(c, clock.absolute(view.t(pointerX), "  ·  "), pointerX, width, height, theme);
  return ticks;
}

function drawMoment(c, text, x, width, height, theme) {
  c.font = `600 11px ${theme.sans}`;
  const room = c.measureText(text).width + 14;
  const left = Math.min(Math.max(x - room / 2, 4), width - room - 4);
  c.fillStyle = theme.colours.ink;
  c.beginPath();
  c.roundRect(left, 4, room, height - 8, 5);
  c.fill();
  c.fillStyle = theme.colours.paper;
  c.fillText(text, left + 7, height / 2 + 0.5);
}
