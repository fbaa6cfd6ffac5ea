"""The piece of one partition that belongs to an epoch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class OffsetRange(NamedTuple):
    """Offsets from `start` up to, and without, `end`. Not every offset has a record."""

    topic: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}[{self.start}, {self.end})"


def offsets_in(ranges: Iterable[OffsetRange]) -> int:
    """The number of offsets: that of records, unless some were compacted or are markers of transactions."""
    return sum(piece.end - piece.start for piece in ranges)
