// The legend, drawn by the same hand as the lanes.

const SIGNS = [
  ["no owner", (d) => paintGap(d, { start: 0, end: 1 }, 1, 1, 28, 14)],
  ["two owners", (d) => paintOverlap(d, { start: 0, end: 1, owners: [{ colour: 0, texture: 0 }, { colour: 1, texture: 0 }], sure: true }, 1, 1, 28, 14)],
  ["callback waits", (d, c) => { c.fillStyle = d.theme.waiting; c.fillRect(1, 3, 28, 9); c.fillStyle = d.theme.colours.call; c.fillRect(1, 7, 28, 1); }],
  ["callback runs", (d, c) => { c.fillStyle = d.theme.colours.call; d.bar(1, 3, 29, 9, 2); }],
  ["stood still", (d) => paintStretch(d, { stretch: "silent" }, 1, 4, 28, 8)],
  ["no answers", (d) => paintStretch(d, { stretch: "unanswered" }, 1, 4, 28, 8)],
  ...["fence", "fatal", "failure", "warning", "problem", "leave", "end"].map((mark) => [
    { fence: "fenced", fatal: "fatal error", failure: "failure", warning: "warning", problem: "broker trouble", leave: "leave", end: "trace ends" }[mark],
    (d, c) => glyph(c, mark, 15, 8, d.theme),
  ]),
];

function drawLegend(list, drawing, ratio) {
  list.replaceChildren(...SIGNS.map(([name, paint]) => {
    const canvas = element("canvas");
    [canvas.width, canvas.height] = [30 * ratio, 16 * ratio];
    const pen = Object.create(drawing, { c: { value: canvas.getContext("2d") } });
    pen.c.scale(ratio, ratio);
    paint(pen, pen.c);
    const entry = element("li");
    entry.append(canvas, element("span", "", name));
    return entry;
  }));
}
