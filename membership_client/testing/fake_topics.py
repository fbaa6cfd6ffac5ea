"""The topics of a fake cluster, as its metadata shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class FakeTopic:
    name: str
    topic_id: UUID
    partitions: int


class FakeTopics:
    """The topics. A topic that is deleted and created again under the same name has another id, as in Kafka.

    Ids count upwards from `first_id`, so that runs can be repeated.
    """

    def __init__(self, topics: dict[str, int] | None = None, first_id: int = 1) -> None:
        self.version = 0
        """Rises with every change, so that a group can tell whether it has seen the newest topics."""
        self.created_version = 0
        """The version in which a topic was last created. Patterns are evaluated again after it."""
        self.unnamed: frozenset[UUID] = frozenset()
        """Topics that are not in answers about metadata, as on a broker whose metadata lags behind the coordinator's."""
        self._by_name: dict[str, FakeTopic] = {}
        self.next_id = first_id
        """The id of the topic that is created next."""
        for name, partitions in (topics or {}).items():
            self.create(name, partitions)

    def create(self, name: str, partitions: int) -> UUID:
        if name in self._by_name:
            raise ValueError(f"topic {name} exists")
        topic = FakeTopic(name, UUID(int=self.next_id), partitions)
        self.next_id += 1
        self._change(topic)
        self.created_version = self.version
        return topic.topic_id

    def grow(self, name: str, partitions: int) -> None:
        """Grow the topic to `partitions` partitions; a topic never shrinks."""
        topic = self._by_name[name]
        if partitions < topic.partitions:
            raise ValueError(f"topic {name} has {topic.partitions} partitions already")
        self._change(FakeTopic(name, topic.topic_id, partitions))

    def delete(self, name: str) -> None:
        del self._by_name[name]
        self.version += 1

    def _change(self, topic: FakeTopic) -> None:
        self._by_name[topic.name] = topic
        self.version += 1

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> FakeTopic:
        return self._by_name[name]

    def __iter__(self) -> Iterator[FakeTopic]:
        return iter(tuple(self._by_name.values()))

    def known(self, names: Iterable[str]) -> tuple[FakeTopic, ...]:
        """Those of the named topics that exist, sorted by name."""
        return tuple(self._by_name[name] for name in sorted(names) if name in self._by_name)

    def names_of(self, topic_ids: Iterable[UUID]) -> dict[UUID, str]:
        """The names of these topics in an answer about metadata."""
        told = {topic.topic_id: topic.name for topic in self._by_name.values() if topic.topic_id not in self.unnamed}
        return {topic_id: told[topic_id] for topic_id in topic_ids if topic_id in told}
