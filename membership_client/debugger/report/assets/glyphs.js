// The marks: one shape for each, so that colour is never the only difference.

function glyph(c, mark, x, y, theme) {
  c.save();
  c.translate(x, y);
  c.lineJoin = c.lineCap = "round";
  GLYPHS[mark](c, theme.colours);
  c.restore();
}

function polygon(c, points, colour) {
  c.beginPath();
  points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
  c.closePath();
  c.fillStyle = colour;
  c.fill();
}

function lines(c, colour, width, ...strokes) {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.beginPath();
  for (const [first, ...rest] of strokes) {
    c.moveTo(...first);
    for (const point of rest) c.lineTo(...point);
  }
  c.stroke();
}

function disc(c, radius, colour) {
  c.beginPath();
  c.arc(0, 0, radius, 0, 7);
  c.fillStyle = colour;
  c.fill();
}

const GLYPHS = {
  fence: (c, k) => {
    polygon(c, [[0, -6], [6, 0], [0, 6], [-6, 0]], k.trouble);
    lines(c, k.paper, 1.6, [[-2.2, 0], [2.2, 0]]);
  },
  fatal: (c, k) => {
    polygon(c, [[-2.5, -6], [2.5, -6], [6, -2.5], [6, 2.5], [2.5, 6], [-2.5, 6], [-6, 2.5], [-6, -2.5]], k.trouble);
    lines(c, k.paper, 1.6, [[-2.2, -2.2], [2.2, 2.2]], [[-2.2, 2.2], [2.2, -2.2]]);
  },
  failure: (c, k) => lines(c, k.trouble, 2.6, [[-4, -4], [4, 4]], [[-4, 4], [4, -4]]),
  warning: (c, k) => {
    polygon(c, [[0, -6], [6.5, 5.5], [-6.5, 5.5]], k.warn);
    lines(c, k.paper, 1.6, [[0, -2], [0, 1.4]], [[0, 3.6], [0, 3.7]]);
  },
  leave: (c, k) => lines(c, k.soft, 2, [[-5, 0], [4, 0]], [[0.5, -4], [5, 0], [0.5, 4]]),
  end: (c, k) => lines(c, k.ink, 2.4, [[0, -7], [0, 7]], [[-4, -7], [4, -7]], [[-4, 7], [4, 7]]),
  problem: (c, k) => disc(c, 3.2, k.warn),
  note: (c, k) => disc(c, 2.4, k.faint),
};
