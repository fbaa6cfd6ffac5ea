"""Who held which partition when, from the callbacks of every member, and whether two ever held the same one.

All times are of the system's monotonic clock, which the processes of one machine share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from membership_client import TopicPartition

Kind = Literal["assigned", "revoked", "lost", "died"]


@dataclass(frozen=True, slots=True)
class Change:
    """A callback: taken when it began if it gave partitions, when it ended if it took them. `died` takes them all."""

    kind: Kind
    partitions: frozenset[TopicPartition]
    at: float


class Span(NamedTuple):
    """One uninterrupted time of holding a partition, or of its being free; infinite where it is still held."""

    partition: TopicPartition
    start: float
    end: float


class History:
    """What happened to one member, in order. One thread writes, any thread reads."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def add(self, kind: Kind, partitions: Iterable[TopicPartition], at: float) -> None:
        self.changes.append(Change(kind, frozenset(partitions), at))

    @property
    def owned(self) -> frozenset[TopicPartition]:
        return frozenset(span.partition for span in self.spans() if span.end == math.inf)

    def of(self, kind: Kind) -> list[Change]:
        return [change for change in tuple(self.changes) if change.kind == kind]

    def spans(self) -> Iterator[Span]:
        held: dict[TopicPartition, float] = {}
        for change in tuple(self.changes):
            if change.kind == "assigned":
                held.update(dict.fromkeys(change.partitions - held.keys(), change.at))
                continue
            gone = tuple(held) if change.kind == "died" else change.partitions & held.keys()
            yield from (Span(partition, held.pop(partition), change.at) for partition in gone)
        yield from (Span(partition, start, math.inf) for partition, start in held.items())


def assert_never_shared(histories: Iterable[History]) -> None:
    """No partition was held by two members at any moment."""
    spans = sorted(span for history in histories for span in history.spans())
    for one, next_one in itertools.pairwise(spans):
        assert one.partition != next_one.partition or one.end <= next_one.start, f"held twice: {one} and {next_one}"


def gaps(histories: Iterable[History]) -> Iterator[Span]:
    """The times without an owner, between the first and the last time each partition was held."""
    spans = sorted(span for history in histories for span in history.spans())
    for earlier, later in itertools.pairwise(spans):
        if earlier.partition == later.partition and earlier.end < later.start:
            yield Span(earlier.partition, earlier.end, later.start)


def unowned_s(histories: Iterable[History], since: float = 0.0) -> float:
    """Partition-seconds without an owner, of those times that began since then."""
    return sum(gap.end - gap.start for gap in gaps(histories) if gap.start >= since)
