// Which lanes are shown, in which order and where: sections, members, partitions; after filter, folding and findings.

const HEIGHTS = {
  roomy: { section: 34, member: 54, partition: 22 },
  compact: { section: 30, member: 30, partition: 12 },
};

class Lanes {
  constructor(model) {
    this.model = model;
    this.folded = new Set();
    this.words = [];
    this.only = null;
    this.compact = model.partitions.length > 60;
    this.arrange();
  }

  arrange() {
    this.rows = [];
    this.height = 0;
    const several = new Set(this.model.members.map((member) => member.group)).size > 1;
    for (const group of new Set(this.model.members.map((member) => member.group))) {
      const suffix = several ? ` of ${group}` : "";
      this.section(`Members${suffix}`, this.model.members.filter((lane) => lane.group === group));
      this.section(`Partitions${suffix}`, this.model.partitions.filter((lane) => lane.group === group));
    }
  }

  section(name, all) {
    const lanes = all.filter((lane) => this.concerns(lane));
    if (!lanes.length) return;
    const heights = HEIGHTS[this.compact ? "compact" : "roomy"];
    this.add({ kind: "section", name, count: lanes.length, folded: this.folded.has(name) }, heights.section);
    if (!this.folded.has(name)) for (const lane of lanes) this.add(lane, heights[lane.kind]);
  }

  add(lane, height) {
    lane.row = this.rows.length;
    this.rows.push({ lane, top: this.height, height });
    this.height += height;
  }

  // A lane is shown for its own name, and for what it has to do with a lane of that name.
  concerns(lane) {
    if (this.only && !this.only.has(lane)) return false;
    if (!this.words.length || this.named(lane)) return true;
    const others = lane.kind === "member" ? lane.partitions : lane.owners;
    return [...others].some((other) => this.named(other));
  }

  named(lane) {
    const name = lane.name.toLowerCase();
    return this.words.some((word) => name.includes(word));
  }

  filter(text) {
    this.words = text.toLowerCase().split(/[\s,]+/).filter(Boolean);
    this.arrange();
  }

  show(only) {
    this.only = only;
    this.arrange();
  }

  fold(name) {
    if (!this.folded.delete(name)) this.folded.add(name);
    this.arrange();
  }

  unhide() {
    [this.words, this.only] = [[], null];
    this.folded.clear();
    this.arrange();
  }

  rowAt(y) {
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].top + this.rows[middle].height <= y) low = middle + 1;
      else high = middle;
    }
    return this.rows[low];
  }

  rowOf(lane) {
    return this.rows.find((row) => row.lane === lane);
  }

  *between(top, bottom) {
    for (let row = this.rowAt(top); row && row.top < bottom; row = this.rows[row.lane.row + 1]) yield row;
  }
}
