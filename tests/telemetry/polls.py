"""A polling thread in virtual time, which is looked at as the attendant does; and rhythms for it to have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from membership_client.consumer.poll_time import PollTime
from membership_client.consumer.unseen import Spent

_KNOCK_S = 0.001
"""Until a thread that is inside poll() answers."""

WATCHED = 8


@dataclass
class PollingThread:
    """Goes through cycles of a wait inside poll() and work after it, and keeps the true account of both."""

    random: random.Random = field(default_factory=lambda: random.Random(7))
    now: float = 0.0
    spent: Spent = field(default_factory=Spent)
    """What PollTime should find out."""
    watched: int = WATCHED
    calls_watched: int = 0

    def __post_init__(self) -> None:
        self.time = PollTime(lambda: self.now)
        self._look_at = 1.0
        self._knock_at = float("inf")

    def run(self, cycles: Iterator[tuple[float, float]], seconds: float) -> PollingThread:
        end = self.now + seconds
        while self.now < end:
            wait_s, work_s = next(cycles)
            self._poll(wait_s)
            self._pass(work_s)
            self.spent += Spent(wait_s, work_s)
        return self

    def _poll(self, wait_s: float) -> None:
        if self.watched <= 0:
            self._pass(wait_s, inside=True)
            return
        self.calls_watched += 1
        self._knock_at = float("inf")
        with self.time:
            self._pass(wait_s, inside=True)
        self.watched -= 1
        if self.watched <= 0:
            self.time.lose_sight()

    def _pass(self, seconds: float, *, inside: bool = False) -> None:
        end = self.now + seconds
        while (at := min(self._look_at, self._knock_at if inside else end)) < end:
            self.now = max(self.now, at)
            if at == self._look_at:
                self._look()
            else:
                self.time.answered()
                self._knock_at = float("inf")
        self.now = end

    def _look(self) -> None:
        self.time.look()
        self.watched = WATCHED
        self._knock_at = self.now + _KNOCK_S
        self._look_at = self.now + self.random.uniform(0.75, 1.25)


def alike(wait_s: float, work_s: float) -> Iterator[tuple[float, float]]:
    while True:
        yield wait_s, work_s


def scattered(wait_s: float, work_s: float) -> Iterator[tuple[float, float]]:
    """So long on average, and sometimes much longer."""
    chance = random.Random(1)
    while True:
        yield chance.expovariate(1 / wait_s), chance.expovariate(1 / work_s)


def in_batches(records: int, wait_s: float, work_s: float) -> Iterator[tuple[float, float]]:
    """So many records within no time, then a wait for the next ones, or work on all of them."""
    while True:
        yield from [(0.000_003, 0.000_007)] * records
        yield 0.000_003 + wait_s, 0.000_007 + work_s


def share(spent: Spent) -> float:
    return spent.idle_s / (spent.idle_s + spent.busy_s)
