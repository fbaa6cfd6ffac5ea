"""Times, durations and lists as people read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from membership_client.partitions import counted as counted  # noqa: PLC0414 - for modules that take all their words here
from membership_client.partitions import shares
from membership_client.types import TopicPartition

_MOST = 6


def clock(time: float) -> str:
    """`12:03:04.120`, in UTC, because the machines may stand anywhere."""
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S.%f")[:-3]


def second(time: float) -> str:
    """`12:03:04`, in UTC, for the first line."""
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S")


def day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")


def lasting(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 100 else f"{seconds:.1f} s"


def listed(things: Collection[object], conjunction: str = "and") -> str:
    """`a, b and 3 more`; never empty."""
    shown = [str(thing) for thing in things]
    if len(shown) > _MOST:
        return f"{', '.join(shown[: _MOST - 1])} {conjunction} {len(shown) - _MOST + 1} more"
    return joined(shown, conjunction)


def partitions_text(partitions: Iterable[TopicPartition]) -> str:
    """`bills[0], orders[0-3,7]`; never empty."""
    return listed(shares(partitions))


def joined(parts: Iterable[str], conjunction: str = "and") -> str:
    """`a, b and c`."""
    *rest, last = parts
    return f"{', '.join(rest)} {conjunction} {last}" if rest else last
