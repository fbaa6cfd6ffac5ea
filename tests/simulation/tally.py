"""How many seeds were played, and how long that took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest

from tests.simulation.fleet import Outcome

NEWS_EVERY_S = 15.0


@dataclass
class Tally:
    """Two rates: by the clock, and by the processor's time, which a busy machine does not change."""

    planned: int
    played: int = 0
    processor_s: float = 0.0
    began_at: float = field(default_factory=time.monotonic)
    counted_at: float = field(default_factory=time.monotonic)
    told_at: float = field(default_factory=time.monotonic)

    def expect_success(self, outcome: Outcome) -> None:
        """Counts what was played, and fails the test if a seed failed."""
        self.played += outcome.seeds
        self.processor_s += outcome.processor_s
        self.counted_at = time.monotonic()
        if outcome.failure is not None:
            pytest.fail(outcome.failure, pytrace=False)

    def news(self) -> str | None:
        """How far a long run is, not too often."""
        if self.played == self.planned or time.monotonic() < self.told_at + NEWS_EVERY_S:
            return None
        self.told_at = time.monotonic()
        return str(self)

    def __str__(self) -> str:
        took_s = max(self.counted_at - self.began_at, 0.001)
        per_core = self.played / max(self.processor_s, 0.001)
        return (
            f"simulated {self.played} of {self.planned} seeds in {took_s:.0f} s:"
            f" {self.played / took_s:.1f} per second, {per_core:.1f} per second of a processor"
        )


TALLY = pytest.StashKey[Tally]()
