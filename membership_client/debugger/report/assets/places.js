// Where a thing is drawn in its row, and which thing lies under a pointer. Drawing and pointing share these numbers.

const NEAR_PX = 4;

function plan(row) {
  if (row.lane.kind === "partition") {
    const inset = row.height > 16 ? 3 : 1;
    const place = { top: inset, height: row.height - 2 * inset };
    return { owned: place, gap: place, overlap: place };
  }
  return row.height < 40
    ? { state: { top: 4, height: 13 }, stretch: { top: 11, height: 6 }, call: { top: 19, height: 6 }, mark: { top: 4, height: 13 } }
    : { mark: { top: 4, height: 14 }, state: { top: 20, height: 17 }, stretch: { top: 30, height: 7 }, call: { top: 39, height: 9 } };
}

function boxOf(item, row, view) {
  const { top, height } = plan(row)[item.kind];
  const [left, right] = [view.x(item.start), view.x(item.end)];
  if (item.kind === "mark") return { x: left - 7, y: row.top + top, width: 14, height };
  return { x: left, y: row.top + top, width: Math.max(right - left, 2), height };
}

// What is drawn last is found first: it lies on top.
function itemAt(row, x, y, view) {
  const { lane } = row;
  const layers = lane.kind === "member" ? [lane.marks, lane.calls, lane.stretches, lane.states] : [lane.overlaps, lane.gaps, lane.owned];
  for (const layer of layers) {
    const found = nearest(layer, row, x, y, view);
    if (found) return found;
  }
  return null;
}

function nearest(layer, row, x, y, view) {
  let [best, distance] = [null, NEAR_PX];
  for (let i = firstAfter(layer, view.t(x - 8)); i < layer.length && view.x(layer[i].start) < x + 8; i++) {
    const box = boxOf(layer[i], row, view);
    if (y < box.y - 2 || y > box.y + box.height + 2) continue;
    const away = Math.max(box.x - x, x - box.x - box.width, 0);
    if (away < distance || (away === 0 && distance === 0)) [best, distance] = [layer[i], away];
  }
  return best;
}
