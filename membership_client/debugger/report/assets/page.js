// The page as a whole: it owns the parts, and draws once per frame when something changed.

class Page {
  constructor(model) {
    this.model = model;
    this.clock = new Clock(model.began);
    this.theme = new Theme();
    this.view = new Viewport(model.span, () => this.redraw());
    this.lanes = new Lanes(model);
    this.scroll = document.getElementById("scroll");
    this.canvas = document.getElementById("lanes");
    this.drawing = new Drawing(this.canvas, model, this.lanes, this.view, this.theme);
    this.minimap = new Minimap(document.getElementById("minimap"), model, this.view);
    this.tip = new Tip(document.getElementById("tip"), document.getElementById("said"), this.clock, this.theme);
    this.findings = new Findings(document.getElementById("findings"), model, this.clock, (finding) => this.showFinding(finding));
    this.pending = 0;
    this.frames = 0;
    this.printing = false;
  }

  // --- drawing -------------------------------------------------------------------------------------------------------

  redraw() {
    this.pending ||= requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  // Sizes and colours anew: after a resize, another scheme, other lanes.
  refresh() {
    this.theme.read();
    this.layout();
    drawLegend(document.getElementById("signs"), this.drawing, devicePixelRatio);
  }

  layout() {
    const width = this.scroll.clientWidth;
    const gutter = this.drawing.gutterWidth();
    this.view.place(gutter, width - gutter - 8);
    document.getElementById("spacer").style.height = `${this.lanes.height}px`;
    document.getElementById("nothing").hidden = this.lanes.rows.length > 0;
    this.height = this.printing ? this.lanes.height : Math.min(this.scroll.clientHeight, Math.max(this.lanes.height, 1));
    this.fitCanvas(this.canvas, width, this.height);
    const strip = this.minimap.canvas;
    this.fitCanvas(strip, width, 54);
    this.fitCanvas(document.getElementById("axis"), width, 30);
    this.minimap.paint(this.theme, width, 54, devicePixelRatio);
    this.redraw();
  }

  fitCanvas(canvas, width, height) {
    [canvas.width, canvas.height] = [width * devicePixelRatio, height * devicePixelRatio].map(Math.round);
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    canvas.getContext("2d").setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  }

  draw() {
    const width = this.scroll.clientWidth;
    const axis = document.getElementById("axis").getContext("2d");
    this.drawing.ticks = drawAxis(axis, this.view, this.clock, this.theme, width, 30, this.drawing.pointerX);
    this.drawing.draw(this.printing ? 0 : this.scroll.scrollTop, width, this.height);
    this.minimap.draw(this.minimap.canvas.getContext("2d"), this.theme, width, 54);
    if (this.drawing.selected) this.followSelected();
    this.frames += 1;
  }

  // --- pointing ------------------------------------------------------------------------------------------------------

  within(event) {
    const box = this.scroll.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  scrolls() {
    return this.lanes.height > this.scroll.clientHeight;
  }

  scrollBy(pixels) {
    this.scroll.scrollTop += pixels;
  }

  itemUnder({ x, y }) {
    const row = this.lanes.rowAt(y + this.scroll.scrollTop);
    if (!row || row.lane.kind === "section" || x < this.view.left) return null;
    return itemAt(row, x, y + this.scroll.scrollTop, this.view);
  }

  hover(point, event) {
    this.drawing.pointerX = point.x;
    this.drawing.hovered = this.itemUnder(point);
    this.redraw();
    if (this.drawing.selected) return;
    const row = this.lanes.rowAt(point.y + this.scroll.scrollTop);
    if (this.drawing.hovered) this.tip.show(this.drawing.hovered, event.clientX, event.clientY, false);
    else if (row?.lane.kind === "member" && point.x < this.view.left) this.tip.showLane(row.lane, event.clientX, event.clientY);
    else this.tip.hide();
  }

  leave() {
    this.drawing.pointerX = this.drawing.hovered = null;
    if (!this.drawing.selected) this.tip.hide();
    this.redraw();
  }

  click(point, event) {
    const row = this.lanes.rowAt(point.y + this.scroll.scrollTop);
    if (row?.lane.kind === "section") return this.rearrange(() => this.lanes.fold(row.lane.name));
    this.select(this.itemUnder(point), event);
  }

  // --- selecting -----------------------------------------------------------------------------------------------------

  select(item, at) {
    this.drawing.selected = item;
    if (!item) this.tip.hide();
    else {
      if (!at) this.reveal(item);
      this.anchor = at ? this.view.t(this.within(at).x) : item.start;
      this.tip.show(item, 0, 0, true);
      this.followSelected();
    }
    this.redraw();
  }

  // What is told stays beside what it is told of, however the lanes move.
  followSelected() {
    const box = this.scroll.getBoundingClientRect();
    const place = this.drawing.box(this.drawing.selected);
    const [left, right] = [this.view.left, this.view.left + this.view.width];
    const y = place.y + place.height - this.scroll.scrollTop;
    this.tip.box.style.visibility = place.x + place.width < left || place.x > right || y < 0 || y > box.height + 20 ? "hidden" : "visible";
    this.tip.put(box.left + Math.min(Math.max(this.view.x(this.anchor), left), right), box.top + y - 8);
  }

  // For the keyboard: brings it into sight, and keeps the zoom.
  reveal(item) {
    this.bringRow(this.lanes.rowOf(item.lane));
    const [left, right] = [this.view.x(item.start), this.view.x(item.end)];
    if (right < this.view.left + 10 || left > this.view.left + this.view.width - 10) {
      const half = (this.view.to - this.view.from) / 2;
      this.view.set(item.start - half, item.start + half);
    }
  }

  bringRow(row) {
    const [top, bottom] = [this.scroll.scrollTop, this.scroll.scrollTop + this.scroll.clientHeight];
    if (row.top < top) this.scroll.scrollTop = row.top - 30;
    else if (row.top + row.height > bottom) this.scroll.scrollTop = row.top + row.height + 30 - this.scroll.clientHeight;
  }

  step(direction) {
    const { selected } = this.drawing;
    if (!selected) return this.stepLane(1);
    const items = itemsOf(selected.lane);
    const next = items[items.indexOf(selected) + direction];
    if (next) this.select(next);
  }

  // The thing in the next lane at the same time, so that going down follows one moment through the group.
  stepLane(direction) {
    const { selected } = this.drawing;
    const start = selected ? this.lanes.rows.indexOf(this.lanes.rowOf(selected.lane)) : direction > 0 ? -1 : this.lanes.rows.length;
    const t = selected ? Math.max(selected.start, this.view.from) : Math.max(this.view.from, 0);
    for (let i = start + direction; i >= 0 && i < this.lanes.rows.length; i += direction) {
      const { lane } = this.lanes.rows[i];
      if (lane.kind === "section") continue;
      const items = itemsOf(lane);
      const there = items.find((item) => item.start <= t && item.end > t) ?? items.find((item) => item.start >= t) ?? items.at(-1);
      if (there) return this.select(there);
    }
  }

  zoomToSelected() {
    const { selected } = this.drawing;
    if (selected) this.view.show(selected.start, selected.end);
  }

  goTo(item) {
    if (!this.lanes.rowOf(item.lane)) this.showAllLanes();
    this.scroll.focus();
    this.select(item);
    this.view.show(item.start, item.end);
  }

  showAllLanes() {
    document.getElementById("filter").value = "";
    document.getElementById("only").checked = false;
    this.rearrange(() => this.lanes.unhide());
  }

  letGo() {
    document.getElementById("keys").hidden = true;
    document.getElementById("help").setAttribute("aria-expanded", "false");
    if (document.activeElement?.id === "filter") return this.scroll.focus();
    this.select(null);
    if (this.findings.current) this.findings.choose(null);
  }

  // --- findings, filter, rows ----------------------------------------------------------------------------------------

  showFinding(finding) {
    this.select(null);
    const lanes = finding ? new Set([...finding.members, ...finding.partitions]) : null;
    this.drawing.focus = finding ? { lanes, start: finding.start, end: finding.end } : null;
    const only = document.getElementById("only").checked && lanes?.size ? lanes : null;
    this.rearrange(() => this.lanes.show(only));
    if (!finding) return;
    this.view.show(finding.start, finding.end);
    const row = this.lanes.rows.find(({ lane }) => lanes.has(lane));
    if (row) this.bringRow(row);
  }

  rearrange(change) {
    change();
    if (this.drawing.selected && !this.lanes.rowOf(this.drawing.selected.lane)) this.select(null);
    this.layout();
  }

  changeDensity() {
    this.lanes.compact = !this.lanes.compact;
    this.rearrange(() => this.lanes.arrange());
    this.showDensity();
  }

  showDensity() {
    document.getElementById("density").setAttribute("aria-pressed", String(this.lanes.compact));
    document.getElementById("density").textContent = this.lanes.compact ? "Roomy" : "Compact";
  }

  toggleKeys() {
    const keys = document.getElementById("keys");
    keys.hidden = !keys.hidden;
    document.getElementById("help").setAttribute("aria-expanded", String(!keys.hidden));
  }

  // On paper: everything, in the light scheme, as long as it takes.
  print(printing) {
    this.printing = printing;
    if (printing) {
      this.before = { theme: document.documentElement.dataset.theme ?? "", from: this.view.from, to: this.view.to };
      document.documentElement.dataset.theme = "light";
    } else {
      document.documentElement.dataset.theme = this.before.theme;
    }
    this.refresh();
    this.draw();
  }
}
