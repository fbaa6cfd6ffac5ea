"""A set of partitions keyed by topic id.

Grouped by topic because that is how the wire carries them, and because an assignment of 50,000 partitions in which one
moved is then compared topic by topic, in C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Partitions:
    """Immutable. Topics without partitions are never kept, so equality is equality of content."""

    by_topic: Mapping[UUID, frozenset[int]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, topics: Mapping[UUID, Iterable[int]]) -> Partitions:
        """Build from what a peer sent: duplicates and negative numbers are dropped."""
        sets = ((topic, frozenset(p for p in numbers if p >= 0)) for topic, numbers in topics.items())
        return cls({topic: numbers for topic, numbers in sets if numbers})

    def __bool__(self) -> bool:
        return bool(self.by_topic)

    def __len__(self) -> int:
        return sum(map(len, self.by_topic.values()))

    def __iter__(self) -> Iterator[tuple[UUID, int]]:
        return ((topic, number) for topic, numbers in self.by_topic.items() for number in numbers)

    def __sub__(self, other: Partitions) -> Partitions:
        rest = ((t, numbers - other.by_topic.get(t, frozenset())) for t, numbers in self.by_topic.items())
        return Partitions({t: numbers for t, numbers in rest if numbers})

    def __or__(self, other: Partitions) -> Partitions:
        merged = dict(self.by_topic)
        for topic, numbers in other.by_topic.items():
            merged[topic] = merged.get(topic, frozenset()) | numbers
        return Partitions(merged)

    @property
    def topics(self) -> frozenset[UUID]:
        return frozenset(self.by_topic)

    def of_topics(self, topics: Iterable[UUID]) -> Partitions:
        """The part that belongs to these topics."""
        return Partitions({t: self.by_topic[t] for t in topics if t in self.by_topic})

    def named(self, names: Mapping[UUID, str]) -> Iterator[TopicPartition]:
        """By topic name; topics whose name is unknown are left out."""
        for topic, numbers in self.by_topic.items():
            if (name := names.get(topic)) is not None:
                yield from (TopicPartition(name, number) for number in numbers)


NOTHING = Partitions()
