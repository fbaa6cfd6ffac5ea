"""The coordinator's view of a KIP-848 group, as values that tests can compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client.types import TopicPartition

if TYPE_CHECKING:
    from kio.schema.consumer_group_describe.v1.response import Assignment, DescribedGroup, Member


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """One member. `current` are the partitions that it has acknowledged, `target` those that it will own in the end."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    epoch: int
    current: frozenset[TopicPartition]
    target: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """One group. `state` is Kafka's name of it, such as "Stable" or "Reconciling"."""

    state: str
    epoch: int
    assignment_epoch: int
    members: tuple[DescribedMember, ...]

    def member(self, member_id: str) -> DescribedMember:
        """The member with this id; KeyError if the coordinator knows no such member."""
        return {member.member_id: member for member in self.members}[member_id]


def from_wire(group: DescribedGroup) -> GroupDescription:
    """The description in an answer that kio decoded, without the fields that tests do not need."""
    members = tuple(_member(member) for member in group.members)
    return GroupDescription(group.group_state, group.group_epoch, group.assignment_epoch, members)


def _member(member: Member) -> DescribedMember:
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        epoch=member.member_epoch,
        current=_partitions(member.assignment),
        target=_partitions(member.target_assignment),
    )


def _partitions(assignment: Assignment) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.topic_name, partition)
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    )
