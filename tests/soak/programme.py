"""What happens to the processes of a run, and when: decided by a seed before anything is started."""

from __future__ import annotations

import enum
import itertools
import random
from dataclasses import dataclass


class Kind(enum.Enum):
    """What happens to one process."""

    NAP = "is stopped for less than its session"
    SLEEP = "is stopped for longer than its session"
    KILL = "is killed and started again"
    RESTART = "is told to end, and started again"
    REOPEN = "closes its member and opens a new one"
    VISIT = "has a visitor: a third member comes and goes"
    CUT = "cannot reach the broker for longer than its session"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that happens."""

    at_s: float
    """Since everyone has arrived."""
    kind: Kind
    seat: int
    """Which process, of those that stay."""
    lasts_s: float

    def __str__(self) -> str:
        return f"process {self.seat} {self.kind.value} ({self.lasts_s:.1f} s)"


def programme(seed: int, seconds: float, session_s: float, seats: int = 2) -> list[Trouble]:
    """In the order of time. Each kind comes once before any comes twice, in an order of its own for each seed.

    The first is always a sleep: in a short run a process that was restarted may not be back in time to be thrown out.
    """
    chance = random.Random(seed)
    deck = itertools.chain.from_iterable(chance.sample(list(Kind), len(Kind)) for _ in itertools.count())
    deck = itertools.chain([Kind.SLEEP], deck)
    found: list[Trouble] = []
    at_s = chance.uniform(0.2, 1.5)
    while at_s < seconds:
        kind = next(deck)
        found.append(Trouble(at_s, kind, chance.randrange(seats), _length(kind, chance, session_s)))
        at_s += chance.uniform(0.5, 3.0)  # While this one lasts, or after it.
    return found


def _length(kind: Kind, chance: random.Random, session_s: float) -> float:
    """How long it lasts; what is only a moment takes as long as it takes."""
    if kind is Kind.NAP:
        return chance.uniform(0.05, session_s / 3)
    if kind in {Kind.SLEEP, Kind.CUT}:
        return session_s * chance.uniform(1.3, 2.0)
    return chance.uniform(0.0, session_s) if kind in {Kind.KILL, Kind.VISIT} else 0.0
