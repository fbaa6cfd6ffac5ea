"""The member's monotonic clock, and the nanoseconds since 1970 that spans are made of."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    now: Callable[[], float]
    """Seconds, as in `Step.at`."""
    offset_ns: Callable[[], int]
    """By how much the wall clock is ahead of it at this moment."""


MONOTONIC = Clock(time.monotonic, lambda: time.time_ns() - time.monotonic_ns())


def wall_ns(at: float, offset_ns: int) -> int:
    return round(at * 1e9) + offset_ns
