// What rows are drawn with: spans that are in sight, bars, and text that fits.

class Pen {
  constructor(c, view, theme) {
    Object.assign(this, { c, view, theme });
    this.widths = new Map();
  }

  font(size, weight = 400) {
    this.c.font = `${weight} ${size}px ${this.theme.sans}`;
    this.fontKey = `${size}/${weight}/`;
  }

  measure(text) {
    const key = this.fontKey + text;
    if (!this.widths.has(key)) this.widths.set(key, this.c.measureText(text).width);
    return this.widths.get(key);
  }

  // As much of the text as there is room for; nothing rather than a letter or two.
  fitted(text, room) {
    if (this.measure(text) <= room) return text;
    let length = Math.floor((room / this.measure(text)) * text.length) - 1;
    while (length > 2 && this.measure(`${text.slice(0, length)}…`) > room) length -= 1;
    return length > 2 ? `${text.slice(0, length)}…` : "";
  }

  // Both ends of a name: members of one client differ in their process only, which comes last.
  fittedEnds(text, room) {
    if (this.measure(text) <= room) return text;
    for (let length = text.length - 1; length > 4; length--) {
      const shown = `${text.slice(0, Math.ceil(length / 2))}…${text.slice(-Math.floor(length / 2))}`;
      if (this.measure(shown) <= room) return shown;
    }
    return "";
  }

  clip(x, y, width, height, paint) {
    this.c.save();
    this.c.beginPath();
    this.c.rect(x, y, width, height);
    this.c.clip();
    paint();
    this.c.restore();
  }

  // Calls `paint` with where each span lies; of several within a pixel the first stands for all.
  spans(spans, least, paint) {
    const { view } = this;
    const [leftEdge, rightEdge] = [view.left - 4, view.left + view.width + 4];
    let painted = -Infinity;
    for (let i = firstAfter(spans, view.t(leftEdge)); i < spans.length; i++) {
      const left = view.x(spans[i].start);
      if (left > rightEdge) break;
      const right = view.x(spans[i].end);
      if (right < painted + 0.5 && right - left < 0.5) continue;
      const x = Math.max(left, leftEdge);
      const width = Math.max(Math.min(right, rightEdge) - x, least);
      painted = x + width;
      paint(spans[i], x, width);
    }
  }

  bar(x, y, width, height, radius) {
    const { c } = this;
    if (width < 6) return c.fillRect(x, y, width > 2 ? width - 0.5 : width, height);
    c.beginPath();
    c.roundRect(x, y, width - 1, height, radius);
    c.fill();
  }

  text(text, x, y, width, height, colour, size) {
    this.font(size, 500);
    const left = Math.max(x, this.view.left) + 5;
    const shown = this.fitted(text, x + width - left - 4);
    if (!shown) return;
    this.c.fillStyle = colour;
    this.c.textBaseline = "middle";
    this.c.fillText(shown, left, y + height / 2 + 0.5);
  }

  // Text on a plate of its own, where what lies below is too busy to read on.
  plate(text, x, y, width, height, ink, back) {
    const size = height > 12 ? 10.5 : 8.5;
    this.font(size, 650);
    const left = Math.max(x, this.view.left) + 6;
    const room = this.measure(text) + 8;
    if (left + room > x + width) return;
    const inset = height > 12 ? 2 : 0;
    this.c.fillStyle = back;
    this.bar(left, y + inset, room + 1, height - 2 * inset, 3);
    this.text(text, left - 1, y, room + 12, height, ink, size);
  }
}
