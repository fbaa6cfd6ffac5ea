"""What the polling thread did while it called the C method: concluded from looks at it, and from cycles that were seen.

Cycles that are seen are those right after a look. If all are alike, they stand for the rest. But records come in batches
and are worked on in batches: a thousand short cycles, then a long wait or long work. Most looks fall into what is long,
and none of the cycles after it is. So if looks fall into what lasts longer than the cycles after them, the looks count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_LONGER = 3.0
"""So many cycles do not fit into one."""

_NOTICEABLE_S = 0.005
"""A thread that computes makes others wait for so long before they run, and that is no work on records."""

_ANSWER_S = 0.1
"""A thread that is inside poll() answers sooner, on any machine that is not beyond help."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds inside poll(), and between two."""

    idle_s: float = 0.0
    busy_s: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.idle_s + other.idle_s, self.busy_s + other.busy_s)


@dataclass(frozen=True, slots=True)
class Look:
    """At the polling thread, while its calls were not watched; with what earlier looks showed in the same stretch."""

    at: float
    since: float
    """It stands for the time from here on."""
    first_at: float
    before: Spent = field(default_factory=Spent)
    """According to earlier looks."""
    inside: bool = False
    """Was it inside poll()? So it is if it answers a knock before it calls poll() again."""

    def has_shown(self, now: float) -> bool:
        return now - self.at > _ANSWER_S

    def again(self, at: float) -> Look:
        return Look(at, at, self.first_at, self.shows(at, 0.0))

    def shows(self, until: float, work_s: float) -> Spent:
        """If a wait was seen, so much work came after it."""
        took_s = until - self.since
        busy_s = min(took_s, work_s) if self.inside else took_s
        return self.before + Spent(took_s - busy_s, busy_s)


@dataclass(frozen=True, slots=True)
class Seen:
    """Cycles from one call to the next, their time inside and between; looks, and the time from each to the next call.

    Older ones count less.
    """

    cycles: float = 0.0
    idle_s: float = 0.0
    busy_s: float = 0.0
    looks: float = 0.0
    after_s: float = 0.0

    def and_cycle(self, idle_s: float, busy_s: float) -> Seen:
        return Seen(self.cycles + 1, self.idle_s + idle_s, self.busy_s + busy_s, self.looks, self.after_s)

    def and_look(self, after_s: float, fade: float) -> Seen:
        cycles, idle_s, busy_s = self.cycles * fade, self.idle_s * fade, self.busy_s * fade
        return Seen(cycles, idle_s, busy_s, self.looks * fade + 1, self.after_s * fade + after_s)

    @property
    def work_s(self) -> float:
        """Of one cycle."""
        return self.busy_s / max(self.cycles, 1.0)

    def looks_count(self, *, inside: bool) -> bool:
        """Do looks fall into what the cycles after them do not show? A wait that was seen is beyond doubt."""
        after_s, cycle_s = self.after_s / max(self.looks, 1.0), (self.idle_s + self.busy_s) / max(self.cycles, 1.0)
        return after_s > max(_LONGER * cycle_s, 0.0 if inside else _NOTICEABLE_S)

    def as_cycles(self, took_s: float) -> Spent:
        """Of a stretch from the end of a call to the beginning of another: work, then whole cycles. Nothing without any."""
        total_s = self.idle_s + self.busy_s
        if total_s <= 0:
            return Spent()
        work_s = min(took_s, self.work_s)
        idle_s = (took_s - work_s) * self.idle_s / total_s
        return Spent(idle_s, took_s - idle_s)


def concluded(since: float, until: float, look: Look | None, seen: Seen) -> Spent:
    """Of a stretch from the end of a watched call to the beginning of the next."""
    if look is not None and seen.looks_count(inside=look.inside):
        return look.shows(until, seen.work_s)
    return seen.as_cycles(until - since)
