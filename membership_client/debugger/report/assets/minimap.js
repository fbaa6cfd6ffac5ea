// The whole run in a strip: owners as a thumbnail, trouble on top, and a window on what is shown below.

const MOST_THUMBS = 40;

class Minimap {
  constructor(canvas, model, view) {
    Object.assign(this, { canvas, model, view });
    this.picture = document.createElement("canvas");
  }

  x(t) {
    const [first, last] = this.view.everything();
    return this.view.left + ((t - first) / (last - first)) * this.view.width;
  }

  t(x) {
    const [first, last] = this.view.everything();
    return first + ((x - this.view.left) / this.view.width) * (last - first);
  }

  // Once per size and scheme; the window moves over it.
  paint(theme, width, height, ratio) {
    [this.picture.width, this.picture.height] = [width * ratio, height * ratio];
    const c = this.picture.getContext("2d");
    c.scale(ratio, ratio);
    c.fillStyle = theme.colours.page;
    c.fillRect(0, 0, width, height);
    this.owners(c, theme, 14, height - 20);
    this.trouble(c, theme, 14, height - 20);
    this.findings(c, theme);
    c.fillStyle = theme.colours.faint;
    c.font = `500 11px ${theme.sans}`;
    c.textBaseline = "middle";
    c.fillText("whole run", 14, height / 2);
  }

  thumbs() {
    const { partitions, members } = this.model;
    const lanes = partitions.length ? partitions : members;
    const step = Math.max(lanes.length / MOST_THUMBS, 1);
    return Array.from({ length: Math.floor(lanes.length / step) }, (_, i) => lanes[Math.floor(i * step)]);
  }

  owners(c, theme, top, height) {
    const lanes = this.thumbs();
    const each = height / lanes.length;
    lanes.forEach((lane, i) => {
      for (const span of lane.owned ?? lane.states) {
        c.fillStyle = span.owner ? theme.members[span.owner.colour] : theme.colours[span.state.toLowerCase()];
        c.fillRect(this.x(span.start), top + i * each, Math.max(this.x(span.end) - this.x(span.start), 0.5), Math.max(each - 0.4, 0.6));
      }
    });
  }

  // Of all partitions, not only of those in the thumbnail.
  trouble(c, theme, top, height) {
    for (const { gaps, overlaps } of this.model.partitions) {
      c.fillStyle = theme.colours.trouble;
      for (const gap of gaps) c.fillRect(this.x(gap.start), top + height + 1, Math.max(this.x(gap.end) - this.x(gap.start), 1), 3);
      c.fillStyle = theme.danger;
      for (const { start, end } of overlaps.filter((overlap) => overlap.sure)) {
        c.fillRect(this.x(start), top + height - 9, Math.max(this.x(end) - this.x(start), 4), 9);
      }
    }
  }

  findings(c, theme) {
    for (const finding of this.model.findings) {
      c.fillStyle = theme.colours[{ error: "trouble", warning: "warn" }[finding.severity] ?? "faint"];
      c.beginPath();
      c.roundRect(this.x(finding.start) - 2, 5, Math.max(this.x(finding.end) - this.x(finding.start), 1) + 4, 5, 2.5);
      c.fill();
    }
  }

  draw(c, theme, width, height) {
    c.drawImage(this.picture, 0, 0, width, height);
    const [left, right] = [this.x(this.view.from), this.x(this.view.to)];
    c.fillStyle = theme.colours.page;
    c.globalAlpha = 0.65;
    c.fillRect(this.view.left, 0, left - this.view.left, height);
    c.fillRect(right, 0, width - right, height);
    c.globalAlpha = 1;
    c.strokeStyle = theme.colours.accent;
    c.lineWidth = 1.5;
    c.beginPath();
    c.roundRect(left + 0.75, 1.5, Math.max(right - left - 1.5, 3), height - 3, 4);
    c.stroke();
  }
}
