"""From the member's monotonic clock to the nanoseconds since 1970 that spans are made of."""

from __future__ import annotations

import time
from collections.abc import Callable

Anchor = Callable[[], int]
"""Nanoseconds since 1970 minus nanoseconds of the member's clock, as of now."""


def anchor() -> int:
    return time.time_ns() - time.monotonic_ns()


def wall_ns(at: float, offset_ns: int) -> int:
    return round(at * 1e9) + offset_ns
