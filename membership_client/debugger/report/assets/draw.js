// The lanes on their canvas. Only rows in sight are drawn, and of them only what is at least a pixel away from the last.

const LEAST_TROUBLE_PX = 3;

class Drawing {
  constructor(canvas, model, lanes, view, theme) {
    Object.assign(this, { canvas, model, lanes, view, theme });
    this.c = canvas.getContext("2d");
    this.widths = new Map();
    this.focus = null;
    this.selected = null;
    this.hovered = null;
    this.pointerX = null;
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

  gutterWidth() {
    this.font(12.5, 500);
    const longest = [...this.model.members, ...this.model.partitions].reduce((most, lane) => Math.max(most, lane.name.length), 8);
    return Math.min(Math.max(longest * 7 + 46, 130), 240);
  }

  draw(top, width, height) {
    const { c, theme } = this;
    c.fillStyle = theme.colours.paper;
    c.fillRect(0, 0, width, height);
    this.clip(0, 0, width, height, () => {
      const rows = [...this.lanes.between(top, top + height)];
      for (const row of rows) this.background(row, row.top - top, width);
      this.inside(width, height, () => {
        this.grid(width, height);
        for (const row of rows) this.row(row, row.top - top);
        this.overlay(height);
        for (const item of [this.hovered, this.selected]) if (item) this.outline(item, top);
      });
      for (const row of rows) this.label(row, row.top - top, width);
      this.gutterEdge(height);
    });
  }

  clip(x, y, width, height, paint) {
    this.c.save();
    this.c.beginPath();
    this.c.rect(x, y, width, height);
    this.c.clip();
    paint();
    this.c.restore();
  }

  inside(width, height, paint) {
    this.clip(this.view.left, 0, this.view.width, height, paint);
  }

  background(row, y, width) {
    const { c, theme } = this;
    if (this.focus?.lanes.has(row.lane)) c.fillStyle = theme.colours["accent-wash"];
    else if (row.lane.kind === "section") c.fillStyle = theme.colours.page;
    else if (row.lane.row % 2) c.fillStyle = theme.colours.stripe;
    else return;
    c.fillRect(0, y, width, row.height);
  }

  grid(width, height) {
    const { c, view } = this;
    c.fillStyle = this.theme.colours.grid;
    for (const t of this.ticks) c.fillRect(Math.round(view.x(t)), 0, 1, height);
  }

  row(row, y) {
    const faded = this.focus && !this.focus.lanes.has(row.lane) && row.lane.kind !== "section";
    this.c.globalAlpha = faded ? 0.4 : 1;
    if (row.lane.kind === "member") this.member(row, y);
    if (row.lane.kind === "partition") this.partition(row, y);
    this.c.globalAlpha = 1;
  }

  // --- members -------------------------------------------------------------------------------------------------------

  member(row, y) {
    const { state, stretch, call, mark } = plan(row);
    this.spans(row.lane.states, 1.2, (span, x, width) => this.state(span, x, y + state.top, width, state.height));
    this.spans(row.lane.stretches, 2, (span, x, width) => this.stretch(span, x, y + stretch.top, width, stretch.height));
    this.spans(row.lane.calls, 2, (span, x, width) => this.call(span, x, y + call.top, width, call.height));
    this.marks(row.lane.marks, y + mark.top + mark.height / 2);
  }

  state(span, x, y, width, height) {
    const { c, theme } = this;
    c.fillStyle = theme.colours[span.state.toLowerCase()];
    this.bar(x, y, width, height, 3);
    if (span.state === "UNSUBSCRIBED" || width < 22) return;
    this.font(11, 500);
    const left = Math.max(x, this.view.left);
    if (this.measure(span.state.toLowerCase()) + 9 > x + width - left) return;
    this.text(span.state.toLowerCase(), x, y, width, height, span.state === "FATAL" ? "#ffffff" : theme.colours.ink, 11);
  }

  stretch(span, x, y, width, height) {
    const { c, theme } = this;
    c.fillStyle = span.stretch === "silent" ? theme.silent : theme.unanswered;
    c.fillRect(x, y, width, height);
    c.fillStyle = span.stretch === "silent" ? theme.colours.ink : theme.colours.warn;
    c.fillRect(x, y, width, 1);
  }

  // Asked for at the start of the line, running in the filled part: a consumer's callbacks wait for its poll.
  call(span, x, y, width, height) {
    const { c, view, theme } = this;
    const began = Math.min(Math.max(view.x(span.began ?? span.end), x), x + width);
    c.fillStyle = theme.waiting;
    c.fillRect(x, y, began - x, height);
    c.fillStyle = span.error ? theme.colours["call-failed"] : theme.colours.call;
    c.fillRect(x, y + height / 2 - 0.5, began - x, 1);
    if (span.began !== null) this.bar(began, y, Math.max(x + width - began, 2), height, 2);
    if (x + width - began > 46 && height > 7) this.text(span.call, began, y, x + width - began, height, theme.colours.paper, 9.5);
  }

  marks(marks, y) {
    const { c, view, theme } = this;
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

  // --- partitions ----------------------------------------------------------------------------------------------------

  partition(row, y) {
    const { height } = plan(row).owned;
    const top = y + plan(row).owned.top;
    this.spans(row.lane.owned, 1, (span, x, width) => this.owned(span, x, top, width, height));
    this.spans(row.lane.gaps, LEAST_TROUBLE_PX, (span, x, width) => this.gap(span, x, top, width, height));
    this.spans(row.lane.overlaps, LEAST_TROUBLE_PX + 1, (span, x, width) => this.overlap(span, x, top, width, height));
  }

  owned(span, x, y, width, height) {
    this.c.fillStyle = this.theme.fill(span.owner);
    this.bar(x, y, width, height, 3);
    if (width > 24 && height > 8) this.ownerName(span.owner, x, y, width, height);
  }

  // On a texture the name gets a plain ground to be read on.
  ownerName(owner, x, y, width, height) {
    const size = height > 12 ? 11 : 9;
    this.font(size, 500);
    const left = Math.max(x, this.view.left);
    const shown = this.fitted(owner.name, x + width - left - 9);
    if (!shown) return;
    if (owner.texture) {
      this.c.fillStyle = this.theme.members[owner.colour];
      this.bar(left + 1, y, this.measure(shown) + 9, height, 3);
    }
    this.text(shown, x, y, width, height, this.theme.inkOn(owner), size);
  }

  gap(span, x, y, width, height) {
    const { c, theme } = this;
    c.fillStyle = theme.colours["trouble-wash"];
    c.fillRect(x, y, width, height);
    c.fillStyle = theme.hatch;
    c.fillRect(x, y, width, height);
    c.fillStyle = theme.colours.trouble;
    c.fillRect(x, y, width, 1);
    c.fillRect(x, y + height - 1, width, 1);
    if (width > 90 && height > 8) this.plate(`no owner, ${duration(span.end - span.start)}`, x, y, width, height, theme.colours.trouble, theme.colours.paper);
  }

  // Each owner's colour in the middle, hazard tape around it: nothing else on the page looks like this.
  overlap(span, x, y, width, height) {
    const { c, theme } = this;
    c.fillStyle = span.sure ? theme.danger : theme.doubt;
    c.fillRect(x, y, width, height);
    c.lineWidth = 1;
    c.strokeStyle = span.sure ? theme.colours.hazard : theme.colours.warn;
    c.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    const each = (height - 6) / span.owners.length;
    if (width < 10 || each < 2) return;
    span.owners.forEach((owner, i) => {
      c.fillStyle = theme.fill(owner);
      c.fillRect(x + 3, y + 3 + i * each, width - 6, each);
    });
    if (width > 90 && height > 8) this.plate(`${span.owners.length} owners${span.sure ? "" : "?"}, ${duration(span.end - span.start)}`, x, y, width, height, "#111", theme.colours.hazard);
  }

  // --- parts ---------------------------------------------------------------------------------------------------------

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
    this.c.fillStyle = back;
    this.bar(left, y + 2, room + 1, height - 4, 3);
    this.text(text, left - 1, y, room + 12, height, ink, size);
  }

  overlay(height) {
    const { c, view, theme } = this;
    if (this.focus) {
      c.fillStyle = theme.colours.shade;
      const [left, right] = [view.x(this.focus.start), view.x(this.focus.end)];
      c.fillRect(0, 0, left - 1, height);
      c.fillRect(right + 1, 0, view.left + view.width - right, height);
      c.fillStyle = theme.colours.accent;
      c.fillRect(left - 1, 0, 1, height);
      c.fillRect(right, 0, 1, height);
    }
    if (this.pointerX !== null && this.pointerX >= view.left) {
      c.fillStyle = theme.colours.faint;
      c.fillRect(Math.round(this.pointerX), 0, 1, height);
    }
  }

  outline(item, top) {
    if (!this.lanes.rowOf(item.lane)) return;
    const box = this.box(item);
    this.c.strokeStyle = this.theme.colours.accent;
    this.c.lineWidth = 2;
    this.c.beginPath();
    this.c.roundRect(box.x - 1.5, box.y - top - 1.5, box.width + 3, box.height + 3, 4);
    this.c.stroke();
  }

  box(item) {
    return boxOf(item, this.lanes.rowOf(item.lane), this.view);
  }

  // --- the gutter ----------------------------------------------------------------------------------------------------

  label(row, y, width) {
    if (row.lane.kind === "section") return this.heading(row, y);
    const { c, theme } = this;
    const member = row.lane.kind === "member";
    c.fillStyle = this.focus?.lanes.has(row.lane) ? theme.colours["accent-wash"] : row.lane.row % 2 ? theme.colours.stripe : theme.colours.paper;
    c.fillRect(0, y, this.view.left, row.height);
    if (member) {
      c.fillStyle = theme.fill(row.lane);
      c.beginPath();
      c.roundRect(14, y + row.height / 2 - 5, 10, 10, 3);
      c.fill();
    }
    const size = row.height < 16 ? 9.5 : 12;
    this.font(size, member ? 600 : 400);
    c.fillStyle = theme.colours.ink;
    c.textBaseline = "middle";
    const left = member ? 31 : 14;
    c.fillText(this.fitted(row.lane.name, this.view.left - left - 8), left, y + row.height / 2 + 0.5);
  }

  heading(row, y) {
    const { c, theme } = this;
    this.font(11, 650);
    c.textBaseline = "middle";
    c.fillStyle = theme.colours.soft;
    const middle = y + row.height / 2 + 2;
    c.fillText(row.lane.folded ? "▸" : "▾", 13, middle);
    c.fillText(`${row.lane.name}  ${row.lane.count}`, 28, middle);
    c.fillStyle = theme.colours.line;
    c.fillRect(0, y + row.height - 1, this.view.left + this.view.width, 1);
  }

  gutterEdge(height) {
    this.c.fillStyle = this.theme.colours.line;
    this.c.fillRect(this.view.left - 1, 0, 1, height);
  }
}
