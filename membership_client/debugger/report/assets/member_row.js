// A member's row: its marks, its states, the times it was alone, its callbacks.

function paintMember(pen, row, y) {
  const { state, stretch, call, mark } = plan(row);
  pen.spans(row.lane.states, 1.2, (span, x, width) => paintState(pen, span, x, y + state.top, width, state.height));
  pen.spans(row.lane.stretches, 2, (span, x, width) => paintStretch(pen, span, x, y + stretch.top, width, stretch.height));
  pen.spans(row.lane.calls, 2, (span, x, width) => paintCall(pen, span, x, y + call.top, width, call.height));
  paintMarks(pen, row.lane.marks, y + mark.top + mark.height / 2);
}

function paintState(pen, span, x, y, width, height) {
  const { c, theme } = pen;
  c.fillStyle = theme.colours[span.state.toLowerCase()];
  pen.bar(x, y, width, height, 3);
  if (span.state === "UNSUBSCRIBED" || width < 22) return;
  pen.font(11, 500);
  const left = Math.max(x, pen.view.left);
  if (pen.measure(span.state.toLowerCase()) + 9 > x + width - left) return;
  pen.text(span.state.toLowerCase(), x, y, width, height, span.state === "FATAL" ? "#ffffff" : theme.colours.ink, 11);
}

function paintStretch(pen, span, x, y, width, height) {
  const { c, theme } = pen;
  c.fillStyle = span.stretch === "silent" ? theme.silent : theme.unanswered;
  c.fillRect(x, y, width, height);
  c.fillStyle = span.stretch === "silent" ? theme.colours.ink : theme.colours.warn;
  c.fillRect(x, y, width, 1);
}

// Asked for at the start of the line, running in the filled part: a consumer's callbacks wait for its poll.
function paintCall(pen, span, x, y, width, height) {
  const { c, view, theme } = pen;
  const began = Math.min(Math.max(view.x(span.began ?? span.end), x), x + width);
  c.fillStyle = theme.waiting;
  c.fillRect(x, y, began - x, height);
  c.fillStyle = span.error ? theme.colours["call-failed"] : theme.colours.call;
  c.fillRect(x, y + height / 2 - 0.5, began - x, 1);
  if (span.began !== null) pen.bar(began, y, Math.max(x + width - began, 2), height, 2);
  if (x + width - began > 46 && height > 7) pen.text(span.call, began, y, x + width - began, height, theme.colours.paper, 9.5);
}

function paintMarks(pen, marks, y) {
  const { c, view, theme } = pen;
  const last = {};
  for (let i = firstAfter(marks, view.t(view.left - 8)); i < marks.length; i++) {
    const x = view.x(marks[i].start);
    if (x > view.left + view.width + 8) break;
    if (x - (last[marks[i].mark] ?? -99) < 7) continue;
    last[marks[i].mark] = x;
    c.lineWidth = 1;
    glyph(c, marks[i].mark, x, y, theme);
  }
}
