"""Tells one ownership of a partition from a later one of the same partition.

A commit belongs to the ownership it was made under. One that is under way while its member is fenced, joins again and
gets the partition back would otherwise be sent under the new epoch, accepted, and set the group back behind what
another member has committed meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from membership_client.core.events import CallbackKind
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import TopicPartition

Ownership = Mapping[TopicPartition, int | None]
"""Which ownership of each partition is meant, by its number; None where the partition was not owned."""


def being_assigned(member: Member) -> Partitions:
    """The partitions of a running assigned callback: the coordinator counts them as ours, `member.owned` does not yet."""
    call = member.call
    return call.partitions if call is not None and call.kind is CallbackKind.ASSIGNED else NOTHING


def committable(member: Member) -> Partitions:
    """The partitions whose offsets the application may commit: an assigned callback may commit where they start."""
    return member.owned | being_assigned(member)


class OwnershipNumbers:
    """How often the ownership of each partition has ended. Written on the membership thread, read on any thread."""

    def __init__(self) -> None:
        self._ended: Counter[TopicPartition] = Counter()

    def on_step(self, step: Step) -> None:
        """An observer of the member. It must be the first one, so that no other one sees a step before it is counted here."""
        if step.before.owned is not step.after.owned or step.before.call is not step.after.call:
            ended = committable(step.before) - committable(step.after)
            self._ended.update(ended.named(step.before.names))

    def of(self, partitions: Iterable[TopicPartition], owns: Callable[[TopicPartition], bool]) -> Ownership:
        """The ownerships of this moment. The numbers are read first, so that an ownership that ends meanwhile is not taken for a later one."""
        numbers = {partition: self._ended[partition] for partition in partitions}
        return {partition: number if owns(partition) else None for partition, number in numbers.items()}

    def is_over(self, partition: TopicPartition, number: int | None) -> bool:
        """Has the ownership with that number ended? True for None. To be called on the membership thread."""
        return number != self._ended[partition]
