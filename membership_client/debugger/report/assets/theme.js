// Colours and textures as the drawing needs them, read from the style sheet, so that both schemes are kept in one place.

const NAMES = [
  "page", "paper", "ink", "soft", "faint", "line", "grid", "stripe", "accent", "accent-wash", "trouble", "warn",
  "trouble-wash", "hazard", "shade", "stable", "joining", "reconciling", "ack", "leaving", "stale", "fenced", "fatal",
  "unsubscribed", "call", "call-failed", "waiting",
];

class Theme {
  constructor() {
    this.read();
  }

  read() {
    const probe = document.body.appendChild(document.createElement("i"));
    const resolve = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    this.colours = Object.fromEntries(NAMES.map((name) => [name, resolve(name)]));
    this.members = Array.from({ length: 10 }, (_, i) => resolve(`member-${i}`));
    this.sans = getComputedStyle(document.documentElement).getPropertyValue("--sans").trim();
    probe.remove();
    this.fills = new Map();
    this.hatch = stripes("transparent", this.colours.trouble, 6, 1.6);
    this.danger = stripes(this.colours.hazard, "#111", 10, 5);
    this.doubt = stripes("transparent", this.colours.warn, 6, 2);
    this.silent = stripes("transparent", this.colours.ink, 5, 1.3);
    this.unanswered = stripes("transparent", this.colours.warn, 5, 1.3);
    this.waiting = stripes("transparent", this.colours.waiting, 4, 1.4);
  }

  // What a member's partitions are filled with: never its colour alone, once there are more members than colours.
  fill(member) {
    const key = member.colour + 10 * member.texture;
    if (!this.fills.has(key)) this.fills.set(key, textured(this.members[member.colour], member.texture));
    return this.fills.get(key);
  }

  // Black or white, whichever is easier to read on this member's colour.
  inkOn(member) {
    return luminance(this.members[member.colour]) > 0.2 ? "#10161d" : "#ffffff";
  }
}

function luminance(colour) {
  const [red, green, blue] = colour.match(/[\d.]+/g).map((part) => (part / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function tile(size, paint) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d");
  paint(context);
  return context.createPattern(canvas, "repeat");
}

function stripes(back, front, size, width) {
  return tile(size, (c) => {
    if (back !== "transparent") {
      c.fillStyle = back;
      c.fillRect(0, 0, size, size);
    }
    c.strokeStyle = front;
    c.lineWidth = width;
    c.beginPath();
    for (const shift of [-size, 0, size]) {
      c.moveTo(shift - 1, size + 1);
      c.lineTo(shift + size + 1, -1);
    }
    c.stroke();
  });
}

function textured(colour, texture) {
  if (texture === 0) return colour;
  return tile(8, (c) => {
    c.fillStyle = colour;
    c.fillRect(0, 0, 8, 8);
    c.strokeStyle = c.fillStyle = "rgba(255, 255, 255, 0.45)";
    c.lineWidth = 1.5;
    c.beginPath();
    if (texture === 1) for (const s of [-8, 0, 8]) { c.moveTo(s - 1, 9); c.lineTo(s + 9, -1); }
    if (texture === 2) { c.arc(4, 4, 1.4, 0, 7); c.fill(); }
    if (texture === 3) for (const s of [-8, 0, 8]) { c.moveTo(s - 1, -1); c.lineTo(s + 9, 9); }
    if (texture === 4) { c.moveTo(4, 0); c.lineTo(4, 8); }
    if (texture !== 2) c.stroke();
  });
}
