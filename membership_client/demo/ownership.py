"""Which member owned which partition from when to when, and when a partition had no owner."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from membership_client.demo.events import Called, DemoEvent, ProcessEnded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a partition had one owner, or none (`owner` None). `ends` is None if it lasts."""

    owner: str | None
    begins: float
    ends: float | None = None

    def covers(self, at: float) -> bool:
        return self.begins <= at and (self.ends is None or at < self.ends)

    def seconds_within(self, begins: float, ends: float) -> float:
        """How many seconds of it are in that time."""
        own_end = ends if self.ends is None else min(ends, self.ends)
        return max(0.0, own_end - max(begins, self.begins))


def owned_spans(events: Iterable[DemoEvent]) -> Mapping[int, Sequence[Span]]:
    """The owners of each partition. Two spans overlap only if two members owned it at once."""
    lanes: dict[int, list[Span]] = defaultdict(list)
    held: dict[tuple[int, int], Called] = {}
    for event in sorted(_relevant(events), key=lambda h: h.at):
        if isinstance(event, Called) and event.kind == "assigned":
            held.update({(event.pid, partition): event for partition in event.partitions})
            continue
        for key in _let_go(event, held):
            taken = held.pop(key)
            lanes[key[1]].append(Span(taken.name, taken.at, event.at))
    for (_, partition), taken in held.items():
        lanes[partition].append(Span(taken.name, taken.at))
    return {partition: sorted(lane, key=lambda span: span.begins) for partition, lane in lanes.items()}


def _relevant(events: Iterable[DemoEvent]) -> Iterable[Called | ProcessEnded]:
    return (event for event in events if isinstance(event, Called | ProcessEnded))


def _let_go(event: Called | ProcessEnded, held: Mapping[tuple[int, int], Called]) -> list[tuple[int, int]]:
    """The partitions that a process owns no longer: those it gave up, or all if it ended."""
    mine = [key for key in held if key[0] == event.pid]
    return mine if isinstance(event, ProcessEnded) else [key for key in mine if key[1] in event.partitions]


def gaps(lane: Sequence[Span]) -> list[Span]:
    """When the partition had no owner, after its first owner."""
    between = [Span(None, a.ends, b.begins) for a, b in pairwise(lane) if a.ends is not None and a.ends < b.begins]
    last = lane[-1].ends if lane else None
    return between if last is None else [*between, Span(None, last)]


def owner_at(lane: Sequence[Span], at: float) -> str | None:
    return next((span.owner for span in reversed(lane) if span.covers(at)), None)


def overlaps(lane: Sequence[Span]) -> list[tuple[Span, Span]]:
    """When two members owned the partition at once: never, if the group works."""
    return [(a, b) for a, b in pairwise(lane) if a.ends is None or a.ends > b.begins]
