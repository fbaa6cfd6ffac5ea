// Starts the page: reads the data, fills in the head, and listens.

const THEMES = ["", "light", "dark"];

function figures(model) {
  const gaps = model.partitions.flatMap((partition) => partition.gaps);
  const overlaps = model.partitions.flatMap((partition) => partition.overlaps.filter((overlap) => overlap.sure));
  const doubles = model.findings.filter((finding) => finding.kind === "two owners").length;
  const longest = gaps.reduce((most, gap) => (most && most.end - most.start > gap.end - gap.start ? most : gap), null);
  return [
    { name: "members", value: model.memberCount },
    { name: "partitions", value: model.partitions.length },
    { name: "longest without owner", value: longest ? duration(longest.end - longest.start) : "–", items: longest ? [longest] : [] },
    { name: "two owners", value: times(doubles), items: overlaps, bad: doubles > 0 },
  ];
}

function times(count) {
  return ["never", "once", "twice"][count] ?? `${count} times`;
}

// A figure that counts places leads to them, one after the other.
function figureEntry(page, { name, value, items = [], bad = false }) {
  const entry = element("li", bad ? "bad" : "");
  const box = items.length ? element("button") : element("div");
  box.append(element("b", "", String(value)), element("span", "", name));
  let next = 0;
  if (items.length) box.addEventListener("click", () => page.goTo(items[next++ % items.length]));
  entry.append(box);
  return entry;
}

function fillHead(page) {
  const { model, clock } = page;
  document.getElementById("title").textContent = model.title;
  document.getElementById("when").textContent = `${clock.day(0)}, ${clock.time(0, 1)} – ${clock.time(model.span, 1)}, ${duration(model.span)}`;
  document.getElementById("answer").textContent = model.answer;
  document.getElementById("count").textContent = model.findings.filter((one) => one.severity !== "info").length || "";
  document.getElementById("only-row").hidden = !model.findings.length;
  document.getElementById("figures").replaceChildren(...figures(model).map((figure) => figureEntry(page, figure)));
  page.showDensity();
}

function listen(page) {
  const on = (id, kind, act, options) => document.getElementById(id).addEventListener(kind, act, options);
  on("zoom-in", "click", () => page.view.zoom(1.6));
  on("zoom-out", "click", () => page.view.zoom(1 / 1.6));
  on("fit", "click", () => page.view.fit());
  on("density", "click", () => page.changeDensity());
  on("help", "click", () => page.toggleKeys());
  on("theme", "click", (event) => changeTheme(page, event.currentTarget));
  on("filter", "input", (event) => page.rearrange(() => page.lanes.filter(event.target.value)));
  on("only", "change", () => page.findings.current && page.showFinding(page.findings.current));
  on("scroll", "scroll", () => page.redraw());
  on("scroll", "wheel", (event) => onWheel(page, event, false), { passive: false });
  for (const id of ["axis", "minimap"]) on(id, "wheel", (event) => onWheel(page, event, true), { passive: false });
  on("scroll", "dblclick", () => page.zoomToSelected());
  new Pointers(page, page.scroll);
  new Pointers(page, document.getElementById("axis"));
  onMinimap(page, page.minimap.canvas);
  addEventListener("keydown", (event) => onKey(page, event));
  new ResizeObserver(() => page.printing || page.layout()).observe(page.scroll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.refresh());
  addEventListener("beforeprint", () => page.print(true));
  addEventListener("afterprint", () => page.print(false));
}

function changeTheme(page, button) {
  const root = document.documentElement;
  root.dataset.theme = THEMES[(THEMES.indexOf(root.dataset.theme ?? "") + 1) % THEMES.length];
  button.textContent = { "": "Auto", light: "Light", dark: "Dark" }[root.dataset.theme];
  page.refresh();
}

const page = new Page(readModel(JSON.parse(document.getElementById("data").textContent)));
fillHead(page);
listen(page);
page.refresh();
page.draw();
// For whoever wants to ask the page something in the browser's console.
window.report = page;
