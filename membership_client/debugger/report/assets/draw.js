// The lanes on their canvas: rows that are in sight, their labels, and what is pointed at.

class Drawing extends Pen {
  constructor(canvas, model, lanes, view, theme) {
    super(canvas.getContext("2d"), view, theme);
    Object.assign(this, { model, lanes });
    this.focus = null;
    this.selected = null;
    this.hovered = null;
    this.pointerX = null;
  }

  gutterWidth() {
    this.font(12, 600);
    const longest = [...this.model.members, ...this.model.partitions].reduce((most, lane) => Math.max(most, this.measure(lane.name)), 0);
    return Math.min(Math.max(longest + 46, 130), 280);
  }

  draw(top, width, height) {
    const { c, theme } = this;
    c.fillStyle = theme.colours.paper;
    c.fillRect(0, 0, width, height);
    this.clip(0, 0, width, height, () => {
      const rows = [...this.lanes.between(top, top + height)];
      for (const row of rows) this.background(row, row.top - top, width);
      this.clip(this.view.left, 0, this.view.width, height, () => {
        this.grid(height);
        for (const row of rows) this.row(row, row.top - top);
        this.overlay(height);
        for (const item of [this.hovered, this.selected]) if (item) this.outline(item, top);
      });
      for (const row of rows) this.label(row, row.top - top);
      this.gutterEdge(height);
    });
  }

  background(row, y, width) {
    const { c, theme } = this;
    if (this.focus?.lanes.has(row.lane)) c.fillStyle = theme.colours["accent-wash"];
    else if (row.lane.kind === "section") c.fillStyle = theme.colours.page;
    else if (row.lane.row % 2) c.fillStyle = theme.colours.stripe;
    else return;
    c.fillRect(0, y, width, row.height);
  }

  grid(height) {
    const { c, view } = this;
    c.fillStyle = this.theme.colours.grid;
    for (const t of this.ticks) c.fillRect(Math.round(view.x(t)), 0, 1, height);
  }

  row(row, y) {
    const faded = this.focus && !this.focus.lanes.has(row.lane) && row.lane.kind !== "section";
    this.c.globalAlpha = faded ? 0.4 : 1;
    if (row.lane.kind === "member") paintMember(this, row, y);
    if (row.lane.kind === "partition") paintPartition(this, row, y);
    this.c.globalAlpha = 1;
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

  label(row, y) {
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
    c.fillText(this.fittedEnds(row.lane.name, this.view.left - left - 8), left, y + row.height / 2 + 0.5);
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
