"""A group as its coordinator describes it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from membership_client.types import Node, Offset, TopicPartition

LEFT_TEMPORARILY = -2
"""The epoch of a static member that said goodbye and may come back until its session ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member. In a classic group epochs are None, and the target is the current assignment."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    epoch: int | None
    current: frozenset[TopicPartition]
    target: frozenset[TopicPartition]
    topics: frozenset[str] = frozenset()
    """What it subscribed to by name."""
    regex: str = ""
    """And by pattern; KIP-848 only."""
    is_classic: bool = False
    """It speaks the classic protocol; in a group of KIP-848, while that is being migrated."""

    @property
    def name(self) -> str:
        """The instance id, or else the member id."""
        return self.instance_id or self.member_id

    @property
    def to_release(self) -> frozenset[TopicPartition]:
        """What it still has and should give up."""
        return self.current - self.target


class WaitKind(enum.Enum):
    """What a group waits for."""

    RELEASE = "to release"
    """It has partitions that others are to get."""

    RETURN = "to come back, and meanwhile nobody works on"
    """A static member that left for a while: its partitions are kept for it until its session ends."""

    ANSWER = "to take note of the newest epoch, and then work on"
    """Its next heartbeat would bring it what it should have."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A group waits for one of its members; `waiting` are those who are to get its partitions."""

    holder: MemberView
    partitions: frozenset[TopicPartition]
    waiting: tuple[str, ...]
    kind: WaitKind = WaitKind.RELEASE


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    group_id: str
    protocol: Literal["consumer", "classic"]
    state: str
    epoch: int | None
    assignment_epoch: int | None
    assignor: str
    members: tuple[MemberView, ...]
    coordinator: Node | None = None
    committed: Mapping[TopicPartition, Offset] = field(default_factory=dict)
    """Whatever the group has committed, of partitions that somebody owns and of others."""
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Where these partitions end, and those that somebody owns; one whose end was not told is missing."""

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """Records behind the end, of partitions with a committed offset."""
        known = self.committed.keys() & self.ends.keys()
        return {p: max(0, self.ends[p] - self.committed[p].offset) for p in known}

    @property
    def owners(self) -> dict[TopicPartition, MemberView]:
        return {partition: member for member in self.members for partition in member.current}

    def find(self, name: str) -> MemberView | None:
        """By instance id or member id."""
        return next((m for m in self.members if name in (m.instance_id, m.member_id)), None)

    def waits(self) -> tuple[Wait, ...]:
        """Whom the group waits for. In a classic group the coordinator does not tell."""
        return tuple(wait for member in self.members if (wait := self._wait_for(member)) is not None)

    def _wait_for(self, member: MemberView) -> Wait | None:
        if member.epoch is None or self.assignment_epoch is None:
            return None
        if member.epoch == LEFT_TEMPORARILY:
            return Wait(member, member.current, (), WaitKind.RETURN)
        if member.to_release:
            return Wait(member, member.to_release, self._waiting_for(member, member.to_release), WaitKind.RELEASE)
        if member.epoch < self.assignment_epoch:
            return self._wait_for_late(member)
        return None

    def _wait_for_late(self, member: MemberView) -> Wait:
        """It has not told that it is done. Before Kafka 4.3 (KAFKA-20431) what it is to release is no longer said to be its."""
        if withheld := self._withheld():
            return Wait(member, withheld, self._waiting_for(member, withheld), WaitKind.RELEASE)
        return Wait(member, member.target, (), WaitKind.ANSWER)

    def _withheld(self) -> frozenset[TopicPartition]:
        """What nobody is said to have, and members that know the newest assignment still did not get."""
        known = (member.target for member in self.members if member.epoch == self.assignment_epoch)
        return frozenset().union(*known) - self.owners.keys()

    def _waiting_for(self, holder: MemberView, held: frozenset[TopicPartition]) -> tuple[str, ...]:
        others = (member for member in self.members if member is not holder)
        return tuple(sorted(member.name for member in others if member.target & held))
