"""What a member owns, by name: 50,000 names are made once, and then only those that move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from uuid import UUID

from membership_client.partitions import NOTHING, Partitions
from membership_client.types import TopicPartition
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class NamedPartitions:
    """Immutable. `named` has the partitions of all topics whose name is known."""

    partitions: Partitions = NOTHING
    names: Mapping[UUID, str] = field(default_factory=lambda: MappingProxyType({}))
    named: frozenset[TopicPartition] = frozenset()

    def changed_to(self, partitions: Partitions, names: Mapping[UUID, str]) -> NamedPartitions:
        """The same for other partitions; the work is that of the difference."""
        if partitions is self.partitions:
            return self
        gone = frozenset((self.partitions - partitions).named(self.names))
        named = (self.named - gone).union((partitions - self.partitions).named(names))
        if len(named) != len(partitions):
            # Of a topic and its successor of the same name one can be gone; or a name is not known.
            named = frozenset(partitions.named(names))
        return NamedPartitions(partitions, names, named)
