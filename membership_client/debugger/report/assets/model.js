// The data of the page as objects: members, partitions, and the things in their lanes, in order of time.

function readModel(data) {
  const text = (index) => (index === null ? null : data.strings[index]);
  const members = data.members.map((raw, index) => memberOf(raw, index, data, text));
  const partitions = data.partitions.map((raw, index) => partitionOf(raw, index, members, data, text));
  const findings = data.findings.map((raw) => ({
    ...raw,
    members: raw.members.map((index) => members[index]),
    partitions: raw.partitions.map((index) => partitions[index]),
  }));
  return { title: data.title, answer: data.answer, began: data.began, span: data.span, memberCount: data.memberCount, members, partitions, findings };
}

function memberOf(raw, index, data, text) {
  const member = { kind: "member", index, name: raw.name, group: raw.group, colour: raw.colour, texture: raw.texture };
  member.details = raw.details;
  member.states = ordered(raw.states.map(([start, end, state, reason]) => ({
    kind: "state", lane: member, start, end, state: data.states[state], reason: text(reason),
  })));
  member.calls = ordered(raw.calls.map(([start, began, end, count, call, partitions, reason, error]) => ({
    kind: "call", lane: member, start, began, end, count, call: text(call), partitions: text(partitions), reason: text(reason), error: text(error),
  })));
  member.stretches = ordered(raw.stretches.map(([start, end, stretch, detail]) => ({
    kind: "stretch", lane: member, start, end, stretch, detail: text(detail),
  })));
  member.marks = ordered(raw.marks.map(([start, mark, headline, detail]) => ({
    kind: "mark", lane: member, start, end: start, mark: data.marks[mark], headline: text(headline), detail: text(detail),
  })));
  member.partitions = new Set();
  return member;
}

function partitionOf(raw, index, members, data, text) {
  const partition = { kind: "partition", index, name: `${raw.topic}-${raw.number}`, group: raw.group };
  partition.owned = ordered(raw.owned.map(([start, end, owner, epoch, reason, ending]) => ({
    kind: "owned", lane: partition, start, end, owner: members[owner], epoch, reason: text(reason), ending: text(ending),
  })));
  partition.gaps = ordered(raw.gaps.map(([start, end, reason]) => ({ kind: "gap", lane: partition, start, end, reason: text(reason) })));
  partition.overlaps = ordered(raw.overlaps.map(([start, end, owners, sure]) => ({
    kind: "overlap", lane: partition, start, end, sure, owners: owners.map((owner) => members[owner]),
  })));
  partition.owners = new Set(partition.owned.map((span) => span.owner));
  for (const owner of partition.owners) owner.partitions.add(partition);
  return partition;
}

// Everything in a lane, for the keys that go from one to the next.
function itemsOf(lane) {
  if (!lane.items) {
    const parts = lane.kind === "member" ? [lane.states, lane.stretches, lane.calls, lane.marks] : [lane.owned, lane.gaps, lane.overlaps];
    lane.items = parts.flat().sort((a, b) => a.start - b.start || b.end - a.end);
  }
  return lane.items;
}

// By start; `reach` is the latest end so far, so that the first one still to be seen is found by halving.
function ordered(spans) {
  spans.sort((a, b) => a.start - b.start || a.end - b.end);
  let reach = -Infinity;
  for (const span of spans) span.reach = reach = Math.max(reach, span.end);
  return spans;
}

function firstAfter(spans, t) {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].reach < t) low = middle + 1;
    else high = middle;
  }
  return low;
}
