// Times for people: durations, moments, and where an axis has its ticks. All times are seconds since the run began.

const STEPS_S = [
  1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30,
  60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800,
];

function digits(value, count) {
  return String(value).padStart(count, "0");
}

function duration(seconds) {
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${rest} s`;
}

class Clock {
  constructor(beganWall) {
    this.began = beganWall;
    this.days = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
  }

  date(t) {
    return new Date((this.began + t) * 1000);
  }

  // The time of day here, as exact as the step between two of them.
  time(t, step = 1e-3) {
    const micros = Math.round((this.began + t) * 1e6);
    const date = new Date(Math.floor(micros / 1000));
    const text = `${digits(date.getHours(), 2)}:${digits(date.getMinutes(), 2)}`;
    if (step >= 60) return text;
    const places = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
    const fraction = digits(((micros % 1e6) + 1e6) % 1e6, 6).slice(0, places);
    return `${text}:${digits(date.getSeconds(), 2)}${places ? `.${fraction}` : ""}`;
  }

  day(t) {
    return this.days.format(this.date(t));
  }

  // For whoever compares with a log of another machine: local time with its offset, and UTC.
  absolute(t, between) {
    const date = this.date(t);
    const offset = -date.getTimezoneOffset();
    const sign = offset < 0 ? "−" : "+";
    const zone = `UTC${sign}${digits(Math.floor(Math.abs(offset) / 60), 2)}:${digits(Math.abs(offset) % 60, 2)}`;
    return `${this.day(t)} ${this.time(t, 1e-3)} ${zone}${between}${date.toISOString()}`;
  }

  // Ticks lie on round local times, also where the zone is half an hour off.
  ticks(from, to, width) {
    const step = STEPS_S.find((s) => (s / (to - from)) * width >= 96) ?? STEPS_S.at(-1);
    const shift = this.began - this.date(from).getTimezoneOffset() * 60;
    const first = Math.ceil((from + shift) / step - 1e-9);
    const count = Math.floor((to + shift) / step + 1e-9) - first + 1;
    const ticks = Array.from({ length: Math.max(count, 0) }, (_, i) => (first + i) * step - shift);
    return { step, ticks };
  }
}
