"""The input of assignors: the topics and partitions of each member of a classic group, and the layout of the topics.

These values are public, because a custom assignor is a function of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from membership_client.types import TopicPartition
from membership_client.values import dataclass

NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member told the group when it joined."""

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None
    owned: frozenset[TopicPartition] = frozenset()
    """Partitions that it says it holds, or (eager, sticky) held until it joined. If others claim them, too, the latest generation is right."""
    generation: int = NO_GENERATION
    """The generation in which it got these partitions."""
    rack: str | None = None

    @property
    def rank(self) -> tuple[bool, str]:
        """A key that sorts static members first, by instance id, because a broker gives them a new member id at each start."""
        return (False, self.instance_id) if self.instance_id is not None else (True, self.member_id)


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """How many partitions a topic has (0 to n - 1), and in which racks the replicas of each lie, where that is known."""

    partitions: int
    racks: tuple[frozenset[str], ...] = ()
    """One set per partition, or none at all."""
    topic_id: UUID | None = None
    """A topic that is deleted and created again has another id. None if the broker does not tell it."""


Assignment = Mapping[str, Sequence[TopicPartition]]
"""Partitions by member id."""

AssignFunction = Callable[[Sequence[MemberSubscription], Mapping[str, TopicLayout]], Assignment]
"""A pure function. The order of the subscriptions has no meaning, and topics without a layout do not exist at the moment."""
