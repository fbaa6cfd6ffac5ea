"""What the leader of a classic group assigns by: the topics and partitions of each member, and the layout of the topics.

A custom assignor is a function of these values, so they are as public as partitions are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from membership_client.types import TopicPartition
from membership_client.values import dataclass

NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member said when it joined."""

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None
    owned: frozenset[TopicPartition] = frozenset()
    """What it says it holds, or (eager, sticky) held until it joined. Others may say the same: the latest generation is right."""
    generation: int = NO_GENERATION
    """The group's generation in which it got what it holds."""
    rack: str | None = None

    @property
    def rank(self) -> tuple[bool, str]:
        """Sorts static members first, by instance id: the broker hands out new member ids, the order stays."""
        return (False, self.instance_id) if self.instance_id is not None else (True, self.member_id)


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """How many partitions a topic has (0 to n - 1), and in which racks the replicas of each lie, where that is known."""

    partitions: int
    racks: tuple[frozenset[str], ...] = ()
    """One set per partition, or none at all."""
    topic_id: UUID | None = None
    """A topic that is deleted and created anew has another one. None where the broker tells none."""


Assignment = Mapping[str, Sequence[TopicPartition]]
"""Partitions by member id."""

AssignFunction = Callable[[Sequence[MemberSubscription], Mapping[str, TopicLayout]], Assignment]
"""Pure: the order of the subscriptions means nothing, and topics without a layout do not exist at the moment."""
