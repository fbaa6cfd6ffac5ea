// A partition's row: who owned it, when nobody did, and when two did.

const LEAST_TROUBLE_PX = 3;

function paintPartition(pen, row, y) {
  const { height } = plan(row).owned;
  const top = y + plan(row).owned.top;
  pen.spans(row.lane.owned, 1, (span, x, width) => paintOwned(pen, span, x, top, width, height));
  pen.spans(row.lane.gaps, LEAST_TROUBLE_PX, (span, x, width) => paintGap(pen, span, x, top, width, height));
  pen.spans(row.lane.overlaps, LEAST_TROUBLE_PX + 1, (span, x, width) => paintOverlap(pen, span, x, top, width, height));
}

function paintOwned(pen, span, x, y, width, height) {
  pen.c.fillStyle = pen.theme.fill(span.owner);
  pen.bar(x, y, width, height, 3);
  if (width > 24 && height > 8) paintOwnerName(pen, span.owner, x, y, width, height);
}

// On a texture the name gets a plain ground to be read on.
function paintOwnerName(pen, owner, x, y, width, height) {
  const size = height > 12 ? 11 : 9;
  pen.font(size, 500);
  const left = Math.max(x, pen.view.left);
  const shown = pen.fitted(owner.name, x + width - left - 9);
  if (!shown) return;
  if (owner.texture) {
    pen.c.fillStyle = pen.theme.members[owner.colour];
    pen.bar(left + 1, y, pen.measure(shown) + 9, height, 3);
  }
  pen.text(shown, x, y, width, height, pen.theme.inkOn(owner), size);
}

function paintGap(pen, span, x, y, width, height) {
  const { c, theme } = pen;
  c.fillStyle = theme.colours["trouble-wash"];
  c.fillRect(x, y, width, height);
  c.fillStyle = theme.hatch;
  c.fillRect(x, y, width, height);
  c.fillStyle = theme.colours.trouble;
  c.fillRect(x, y, width, 1);
  c.fillRect(x, y + height - 1, width, 1);
  if (width > 90 && height > 8) pen.plate(`no owner, ${duration(span.end - span.start)}`, x, y, width, height, theme.colours.trouble, theme.colours.paper);
}

// Each owner's colour in the middle, hazard tape around it: nothing else on the page looks like this.
function paintOverlap(pen, span, x, y, width, height) {
  const { c, theme } = pen;
  c.fillStyle = span.sure ? theme.danger : theme.doubt;
  c.fillRect(x, y, width, height);
  c.lineWidth = 1;
  c.strokeStyle = span.sure ? theme.colours.hazard : theme.colours.warn;
  c.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  const each = (height - 6) / span.owners.length;
  if (width < 10 || each < 2) return;
  span.owners.forEach((owner, i) => {
    c.fillStyle = theme.fill(owner);
    c.fillRect(x + 3, y + 3 + i * each, width - 6, each);
  });
  if (width > 90 && height > 8) pen.plate(`${span.owners.length} owners${span.sure ? "" : "?"}, ${duration(span.end - span.start)}`, x, y, width, height, "#111", theme.colours.hazard);
}
