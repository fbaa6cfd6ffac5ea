"""How many seeds were played, and how long that took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest

NEWS_EVERY_S = 15.0


@dataclass
class Tally:
    """Two rates: one for whoever waits, one that does not take a busy machine for a slow simulation."""

    planned: int
    played: int = 0
    processor_s: float = 0.0
    began_at: float = field(default_factory=time.monotonic)
    told_at: float = field(default_factory=time.monotonic)

    def count(self, seeds: int, processor_s: float) -> None:
        self.played += seeds
        self.processor_s += processor_s

    def news(self) -> str | None:
        """How far a long run is, not too often."""
        if time.monotonic() < self.told_at + NEWS_EVERY_S:
            return None
        self.told_at = time.monotonic()
        return str(self)

    def __str__(self) -> str:
        took_s = max(time.monotonic() - self.began_at, 0.001)
        per_core = self.played / max(self.processor_s, 0.001)
        return (
            f"simulated {self.played} of {self.planned} seeds in {took_s:.0f} s:"
            f" {self.played / took_s:.1f} per second, {per_core:.1f} per second of a processor"
        )


TALLY = pytest.StashKey[Tally]()
