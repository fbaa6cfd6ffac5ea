"""Times, durations and numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE_S, _HOUR_S = 60, 3600


def clock(time: float) -> str:
    """In UTC, because the machines may stand anywhere."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S")


def lasting(seconds: float) -> str:
    """`0.25 s`, `12.5 s`, `4 min 10 s`, `3 h 5 min`."""
    if seconds < _MINUTE_S:
        return f"{seconds:.3g} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f} min {seconds % _MINUTE_S:.0f} s"
    return f"{seconds // _HOUR_S:.0f} h {seconds % _HOUR_S // _MINUTE_S:.0f} min"
