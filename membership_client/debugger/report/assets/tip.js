// What a thing says about itself, on hover, on focus and to a screen reader. Text only: nothing here becomes markup.

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function telling(span) {
  return [span.owner.name, `from: ${span.reason}\nuntil: ${span.ending}`];
}

const DESCRIBED = {
  state: (item) => ({ head: `${item.lane.name}: ${item.state}`, lead: item.reason, rows: [] }),
  call: (item) => ({
    head: `${item.lane.name}: on_${item.call}, ${item.count} partition${item.count === 1 ? "" : "s"}`,
    lead: item.error ? `raised ${item.error}` : item.reason,
    rows: [
      ["because", item.error ? item.reason : null],
      ["of", item.partitions],
      ["waited", item.began === null ? null : duration(item.began - item.start)],
      ["ran", item.began === null ? "had not returned when the trace ended" : duration(item.end - item.began)],
    ],
  }),
  stretch: (item) => ({
    head: `${item.lane.name} ${item.stretch === "silent" ? "did nothing" : "got no answer"} for ${duration(item.end - item.start)}`,
    lead: item.detail,
    rows: [],
  }),
  mark: (item) => ({ head: `${item.lane.name}: ${item.headline}`, lead: item.detail, rows: [] }),
  owned: (item) => ({
    head: `${item.lane.name} owned by ${item.owner.name}`,
    lead: item.reason,
    rows: [["epoch", item.epoch], ["ended", item.ending]],
  }),
  gap: (item) => ({ head: `${item.lane.name} has no owner`, lead: item.reason, rows: [] }),
  overlap: (item) => ({
    head: `${item.lane.name} has ${item.owners.length} owners at once`,
    lead: item.sure ? "They could work on the same records." : "Or their machines' clocks differ by as much.",
    rows: item.lane.owned.filter((span) => span.start < item.end && span.end > item.start).map(telling),
  }),
};

function describe(item, clock) {
  const { head, lead, rows } = DESCRIBED[item.kind](item);
  const times = item.kind === "mark"
    ? [["at", clock.absolute(item.start, "\n")]]
    : [["from", clock.absolute(item.start, "\n")], ["to", clock.absolute(item.end, "\n")], ["for", duration(item.end - item.start)]];
  const told = [...rows, ...times].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return { head, lead, rows: told };
}

class Tip {
  constructor(box, said, clock, theme) {
    Object.assign(this, { box, said, clock, theme });
  }

  show(item, x, y, pinned) {
    const { head, lead, rows } = describe(item, this.clock);
    const title = element("div", "head", head);
    const member = item.owner ?? (item.lane.kind === "member" ? item.lane : null);
    if (member) title.prepend(this.dot(member));
    const list = element("dl");
    for (const [name, value] of rows) list.append(element("dt", "", name), element("dd", "", String(value)));
    this.box.replaceChildren(title, ...(lead ? [element("p", "lead", lead)] : []), list);
    this.box.classList.toggle("pinned", pinned);
    this.box.hidden = false;
    this.box.style.visibility = "visible";
    this.put(x, y);
    if (pinned) this.said.textContent = [head, lead, ...rows.map((row) => row.join(" "))].filter(Boolean).join(". ");
  }

  showLane(member, x, y) {
    const list = element("dl");
    for (const [name, value] of member.details) list.append(element("dt", "", name), element("dd", "", String(value)));
    const title = element("div", "head", member.name);
    title.prepend(this.dot(member));
    this.box.replaceChildren(title, list);
    this.box.hidden = false;
    this.put(x, y);
  }

  dot(member) {
    const dot = element("span", "dot");
    dot.style.background = this.theme.members[member.colour];
    return dot;
  }

  // Beside the pointer, on the side where there is room.
  put(x, y) {
    const { width, height } = this.box.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - width - 12 : x + 16;
    const top = y + 18 + height > innerHeight ? y - height - 12 : y + 18;
    this.box.style.left = `${Math.max(left, 6)}px`;
    this.box.style.top = `${Math.max(top, 6)}px`;
  }

  hide() {
    this.box.hidden = true;
    this.box.classList.remove("pinned");
  }
}
