"""Values that describe a group as its coordinator does, and the members that the group waits for."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from membership_client.member_names import member_name, with_member_id
from membership_client.types import Node, Offset, TopicPartition

LEFT_TEMPORARILY = -2
"""The epoch of a static member that has left temporarily: it may come back until its session ends."""

REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance"})
"""States of a classic group in which its coordinator reports neither topics nor assignments of its members."""


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
    """Topics to which the member subscribes by name."""
    regex: str = ""
    """The pattern to which the member subscribes; only with KIP-848."""
    is_classic: bool = False
    """Whether the member uses the classic protocol, perhaps in a KIP-848 group that is being migrated."""
    has_assignor_data: bool = False
    """Whether the leader's assignor wrote data of its own into this member's assignment; only in classic groups."""
    has_namesake: bool = False
    """Whether another member of the group has the same client id and host."""

    @property
    def name(self) -> str:
        """The name as `member_names` makes it, without the process id, which a coordinator does not know."""
        return with_member_id(self.plain_name, self.member_id) if self.has_namesake else self.plain_name

    @property
    def plain_name(self) -> str:
        return member_name(self.instance_id, self.client_id, self.host, None)

    @property
    def to_release(self) -> frozenset[TopicPartition]:
        """Partitions that the member still owns and must revoke."""
        return self.current - self.target


class WaitKind(enum.Enum):
    """What a group waits for a member to do."""

    RELEASE = "to release"
    """The member owns partitions that the target gives to other members."""

    RETURN = "to come back, and meanwhile no member works on"
    """A static member left temporarily: its partitions are kept for it until its session ends."""

    ANSWER = "to take note of the newest epoch"
    """The member learns its target from the answer to its next heartbeat."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A group waits for one of its members; `waiting` names the members that will get its partitions.

    Until then no member works on `partitions`, or another member cannot get them. With ANSWER there may be none.
    """

    holder: MemberView
    partitions: frozenset[TopicPartition]
    waiting: tuple[str, ...]
    kind: WaitKind = WaitKind.RELEASE
    is_certain: bool = True
    """False with RELEASE if the coordinator may not show all partitions that the holder must release (brokers before 4.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """One group with its members, at one moment. In a classic group its epochs are None."""

    group_id: str
    protocol: Literal["consumer", "classic"]
    state: str
    epoch: int | None
    assignment_epoch: int | None
    assignor: str
    members: tuple[MemberView, ...]
    coordinator: Node | None = None
    committed: Mapping[TopicPartition, Offset] = field(default_factory=dict)
    """All committed offsets of the group, also of partitions without an owner."""
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """End offsets of committed and owned partitions; a partition is missing if its end is not known."""

    def __post_init__(self) -> None:
        names = Counter(member.plain_name for member in self.members)
        told_apart = (replace(member, has_namesake=names[member.plain_name] > 1) for member in self.members)
        object.__setattr__(self, "members", tuple(told_apart))

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """Records behind the end, of partitions with a committed offset."""
        known = self.committed.keys() & self.ends.keys()
        return {p: max(0, self.ends[p] - self.committed[p].offset) for p in known}

    @property
    def owners(self) -> dict[TopicPartition, MemberView]:
        return {partition: member for member in self.members for partition in member.current}

    def find(self, name: str) -> MemberView | None:
        """The member with this instance id, member id or name; None if there is none."""
        return next((m for m in self.members if name in (m.instance_id, m.member_id, m.name)), None)

    def waits(self) -> tuple[Wait, ...]:
        """The members that the group waits for; always empty for a classic group, whose coordinator does not report them."""
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
        """The wait for a member at an old epoch. Before Kafka 4.3 (KAFKA-20431) its current partitions lack those that it must release."""
        if withheld := self._withheld():
            return Wait(member, withheld, self._waiting_for(member, withheld), WaitKind.RELEASE, is_certain=False)
        return Wait(member, member.target - member.current, (), WaitKind.ANSWER)

    def _withheld(self) -> frozenset[TopicPartition]:
        """Partitions without an owner that are in the target of a member at the newest epoch."""
        known = (member.target for member in self.members if member.epoch == self.assignment_epoch)
        return frozenset().union(*known) - self.owners.keys()

    def _waiting_for(self, holder: MemberView, held: frozenset[TopicPartition]) -> tuple[str, ...]:
        others = (member for member in self.members if member is not holder)
        return tuple(sorted(member.name for member in others if member.target & held))
