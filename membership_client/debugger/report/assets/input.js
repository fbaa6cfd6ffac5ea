// Wheel, pointers and keys, translated into what the page can do.

const DRAG_PX = 4;
const LINE_PX = 16;

function wheelPixels(event) {
  const scale = event.deltaMode === 1 ? LINE_PX : event.deltaMode === 2 ? innerHeight : 1;
  return [event.deltaX * scale, event.deltaY * scale];
}

// A trackpad's pinch arrives as a wheel with Ctrl. Where there is nothing to scroll, the plain wheel zooms.
function onWheel(page, event, alwaysZooms) {
  const [dx, dy] = wheelPixels(event);
  const zooms = alwaysZooms || event.ctrlKey || event.metaKey || !page.scrolls();
  if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) page.view.pan(dx || dy);
  else if (zooms) page.view.zoom(Math.exp(-dy * (event.ctrlKey ? 0.008 : 0.0025)), page.within(event).x);
  else return;
  event.preventDefault();
}

// One pointer drags, two pinch; a pointer that hardly moved was a click.
class Pointers {
  constructor(page, area) {
    this.page = page;
    this.area = area;
    this.down = new Map();
    this.travelled = 0;
    area.addEventListener("pointerdown", (event) => this.press(event));
    area.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) area.addEventListener(kind, (event) => this.release(event));
    area.addEventListener("pointerleave", () => this.page.leave());
  }

  press(event) {
    if (event.button !== 0 || event.offsetX >= this.area.clientWidth) return;
    this.area.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, this.page.within(event));
    this.travelled = this.down.size > 1 ? DRAG_PX : 0;
  }

  move(event) {
    const here = this.page.within(event);
    const before = this.down.get(event.pointerId);
    if (!before) return this.page.hover(here, event);
    this.travelled += Math.abs(here.x - before.x) + Math.abs(here.y - before.y);
    if (this.down.size === 1 && this.travelled >= DRAG_PX) this.drag(before, here);
    if (this.down.size === 2) this.pinch(event.pointerId, before, here);
    this.down.set(event.pointerId, here);
  }

  drag(before, here) {
    this.area.classList.add("dragging");
    this.page.leave();
    this.page.view.pan(before.x - here.x);
    this.page.scrollBy(before.y - here.y);
  }

  pinch(id, before, here) {
    const [, other] = [...this.down].find(([key]) => key !== id);
    const [was, is] = [before, here].map((point) => Math.max(Math.hypot(point.x - other.x, point.y - other.y), 8));
    this.page.view.zoom(is / was, (here.x + other.x) / 2);
    this.page.view.pan((before.x - here.x) / 2);
  }

  release(event) {
    const clicked = this.down.delete(event.pointerId) && this.travelled < DRAG_PX && event.type === "pointerup";
    if (!this.down.size) this.area.classList.remove("dragging");
    if (clicked) this.page.click(this.page.within(event), event);
  }
}

function onMinimap(page, canvas) {
  const centre = (event) => {
    const half = (page.view.to - page.view.from) / 2;
    const t = page.minimap.t(event.offsetX);
    page.view.stop();
    page.view.set(t - half, t + half);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    centre(event);
  });
  canvas.addEventListener("pointermove", (event) => event.buttons && centre(event));
}

const KEYS = {
  ArrowLeft: (page) => page.step(-1),
  ArrowRight: (page) => page.step(1),
  ArrowUp: (page) => page.stepLane(-1),
  ArrowDown: (page) => page.stepLane(1),
  Enter: (page) => page.zoomToSelected(),
  a: (page) => page.view.pan(-page.view.width * 0.15),
  d: (page) => page.view.pan(page.view.width * 0.15),
  w: (page) => page.view.zoom(1.4),
  s: (page) => page.view.zoom(1 / 1.4),
  "+": (page) => page.view.zoom(1.4),
  "=": (page) => page.view.zoom(1.4),
  "-": (page) => page.view.zoom(1 / 1.4),
  0: (page) => page.view.fit(),
  n: (page) => page.findings.go(1),
  p: (page) => page.findings.go(-1),
  r: (page) => page.changeDensity(),
  "/": () => document.getElementById("filter").focus(),
  "?": (page) => page.toggleKeys(),
  Escape: (page) => page.letGo(),
};
const ONLY_ON_LANES = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter"]);

function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
  if (typing && event.key !== "Escape") return;
  const onLanes = event.target.id === "scroll";
  if (ONLY_ON_LANES.has(event.key) && !onLanes) return;
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action(page);
}
