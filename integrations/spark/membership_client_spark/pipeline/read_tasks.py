"""How many tasks read an epoch, and which part of its ranges each of them reads. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from membership_client_spark.pipeline.ranges import OffsetRange, offsets_in

_LEAST_OFFSETS = 50_000
"""What a task of its own should have at least: a tenth of a second of reading, as long as its start takes."""


def default_tasks(offsets: int, slots: int, parallelism: int) -> int:
    """As many tasks as Spark runs at once, if each has enough to read; never fewer than slots have something to read."""
    return max(slots, min(parallelism, offsets // _LEAST_OFFSETS))


def share(ranges: Sequence[OffsetRange], tasks: int) -> list[list[OffsetRange]]:
    """The ranges in `tasks` parts of equal size, or in fewer if there are fewer offsets. A range may be cut."""
    total = offsets_in(ranges)
    count = min(tasks, total)
    return [_between(ranges, total * number // count, total * (number + 1) // count) for number in range(count)]


def _between(ranges: Sequence[OffsetRange], begin: int, end: int) -> list[OffsetRange]:
    """The offsets from `begin` to `end`, counted over all ranges one after the other."""
    found, before = [], 0
    for piece in ranges:
        start, stop = max(piece.start, piece.start + begin - before), min(piece.end, piece.start + end - before)
        if start < stop:
            found.append(piece._replace(start=start, end=stop))
        before += piece.end - piece.start
    return found
