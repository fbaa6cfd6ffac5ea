// Which part of time is shown, and how that changes. The only state of zoom and pan.

const SHORTEST_S = 2e-4;

class Viewport {
  constructor(span, changed) {
    this.span = span;
    this.changed = changed;
    this.left = 0;
    this.width = 1;
    this.glide = 0;
    [this.from, this.to] = this.everything();
  }

  everything() {
    const margin = this.span * 0.015;
    return [-margin, this.span + margin];
  }

  place(left, width) {
    [this.left, this.width] = [left, Math.max(width, 1)];
  }

  x(t) {
    return this.left + ((t - this.from) / (this.to - this.from)) * this.width;
  }

  t(x) {
    return this.from + ((x - this.left) / this.width) * (this.to - this.from);
  }

  set(from, to) {
    const [first, last] = this.everything();
    const length = Math.min(Math.max(to - from, SHORTEST_S), last - first);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - length / 2, first), last - length);
    this.to = this.from + length;
    this.changed();
  }

  zoom(factor, x = this.left + this.width / 2) {
    this.stop();
    const t = this.t(x);
    this.set(t - (t - this.from) / factor, t + (this.to - t) / factor);
  }

  pan(pixels) {
    this.stop();
    const seconds = (pixels / this.width) * (this.to - this.from);
    this.set(this.from + seconds, this.to + seconds);
  }

  // With room on both sides, so that what comes before and after is seen too.
  show(start, end) {
    const room = Math.max((end - start) * 0.35, this.span * 0.01, 0.02);
    this.moveTo(start - room, end + room);
  }

  fit() {
    this.moveTo(...this.everything());
  }

  stop() {
    cancelAnimationFrame(this.glide);
  }

  // A short glide, because a jump leaves the reader without an idea where they are.
  moveTo(from, to) {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.set(from, to);
    const [oldFrom, oldTo, began] = [this.from, this.to, performance.now()];
    const frame = (now) => {
      const part = Math.min(Math.max((now - began) / 220, 0), 1);
      const eased = 1 - (1 - part) ** 3;
      this.set(oldFrom + (from - oldFrom) * eased, oldTo + (to - oldTo) * eased);
      if (part < 1) this.glide = requestAnimationFrame(frame);
    };
    this.glide = requestAnimationFrame(frame);
  }
}
