// The findings beside the lanes: a click shows when and where. Rebalances, of which there may be many, are folded away.

// As many as the style shows on paper.
const ON_PAPER = 9;

class Findings {
  constructor(list, model, clock, chosen) {
    Object.assign(this, { list, model, chosen });
    this.current = null;
    this.buttons = new Map(model.findings.map((finding) => [finding, this.button(finding, clock)]));
    const [faults, told] = [model.findings.filter((one) => one.severity !== "info"), model.findings.filter((one) => one.severity === "info")];
    this.inOrder = [...faults, ...told];
    list.replaceChildren(...faults.map((finding) => this.entry(finding)));
    if (!faults.length) list.append(element("p", "", "Nothing is wrong in these traces, as far as they tell."));
    if (faults.length > ON_PAPER) list.dataset.more = `${faults.length - ON_PAPER} more are in the file.`;
    if (told.length) list.append(this.folded(told, !faults.length));
  }

  entry(finding) {
    const entry = element("li");
    entry.append(this.buttons.get(finding));
    return entry;
  }

  folded(told, open) {
    this.rest = element("details");
    this.rest.open = open && told.length <= 12;
    const list = element("ol");
    list.append(...told.map((finding) => this.entry(finding)));
    this.rest.append(element("summary", "", `Rebalances ${told.length}`), list);
    const entry = element("li");
    entry.append(this.rest);
    return entry;
  }

  button(finding, clock) {
    const button = element("button", "finding");
    const sign = element("span", `sign ${finding.severity}`, finding.severity === "info" ? "i" : "!");
    const lasted = finding.end > finding.start ? `, ${duration(finding.end - finding.start)}` : "";
    const unsure = finding.certainty === "certain" ? "" : ` (${finding.certainty})`;
    const more = element("div", "more");
    more.append(element("div", "advice", finding.advice), ...finding.evidence.map((text) => element("div", "evidence", text)));
    button.append(
      sign,
      element("span", "kind", finding.kind + unsure),
      element("span", "at", clock.time(finding.start) + lasted),
      element("span", "sentence", finding.sentence),
      more,
    );
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => this.choose(this.current === finding ? null : finding));
    return button;
  }

  choose(finding) {
    this.current = finding;
    for (const [one, button] of this.buttons) button.setAttribute("aria-pressed", String(one === finding));
    if (finding?.severity === "info") this.rest.open = true;
    this.buttons.get(finding)?.scrollIntoView({ block: "nearest" });
    this.chosen(finding);
  }

  go(step) {
    const { inOrder } = this;
    if (!inOrder.length) return;
    const at = inOrder.indexOf(this.current);
    this.choose(inOrder[at < 0 && step < 0 ? inOrder.length - 1 : (at + step + inOrder.length) % inOrder.length]);
  }
}
