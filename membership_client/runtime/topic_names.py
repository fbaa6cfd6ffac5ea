"""Names of topics, known to all members of a process, and the partitions that a member owns, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from uuid import UUID

from membership_client.partitions import NOTHING, Partitions
from membership_client.types import TopicPartition
from membership_client.values import dataclass

_MOST = 100_000


class TopicNames:
    """The names of topic ids. Any thread may use it. When it is full it is emptied, which costs one request per topic."""

    def __init__(self) -> None:
        self._names: dict[UUID, str] = {}

    def learn(self, names: Mapping[UUID, str]) -> None:
        if len(self._names) + len(names) > _MOST:
            self._names = {}
        self._names.update(names)

    def all_of(self, topic_ids: frozenset[UUID]) -> dict[UUID, str] | None:
        """The names of these topics; None unless all are known."""
        names = self._names
        known = {topic: names[topic] for topic in topic_ids if topic in names}
        return known if len(known) == len(topic_ids) else None


@dataclass(frozen=True, slots=True)
class NamedPartitions:
    """Partitions with their names. `named` has the partitions of all topics whose name is known."""

    partitions: Partitions = NOTHING
    names: Mapping[UUID, str] = field(default_factory=lambda: MappingProxyType({}))
    named: frozenset[TopicPartition] = frozenset()

    def changed_to(self, partitions: Partitions, names: Mapping[UUID, str]) -> NamedPartitions:
        """A value for other partitions; the work grows with the difference only."""
        if partitions is self.partitions:
            return self
        gone = frozenset((self.partitions - partitions).named(self.names))
        named = (self.named - gone).union((partitions - self.partitions).named(names))
        if len(named) != len(partitions):
            # A name is not known, or a topic was deleted and created again under its name.
            named = frozenset(partitions.named(names))
        return NamedPartitions(partitions, names, named)
