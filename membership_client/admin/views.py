"""Values that describe a group as its coordinator does, and the members that the group waits for."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from membership_client.types import Node, Offset, TopicPartition

LEFT_TEMPORARILY = -2
"""The epoch of a static member that has left temporarily: it may come back until its session ends."""


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
    """Topics that it subscribes to by name."""
    regex: str = ""
    """The pattern that it subscribes to; KIP-848 only."""
    is_classic: bool = False
    """It uses the classic protocol, perhaps in a KIP-848 group that is being migrated."""

    @property
    def name(self) -> str:
        """The instance id, or else the member id."""
        return self.instance_id or self.member_id

    @property
    def to_release(self) -> frozenset[TopicPartition]:
        """Partitions that it still owns and must revoke."""
        return self.current - self.target


class WaitKind(enum.Enum):
    """What a group waits for a member to do."""

    RELEASE = "to release"
    """It owns partitions that the target gives to other members."""

    RETURN = "to come back, and meanwhile no member works on"
    """A static member left temporarily: its partitions are kept for it until its session ends."""

    ANSWER = "to take note of the newest epoch, and then work on"
    """The answer to its next heartbeat will bring its target."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A group waits for one of its members; `waiting` names the members that will get its partitions."""

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
    """All committed offsets of the group, also of partitions without an owner."""
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """End offsets of committed and owned partitions; a partition is missing if its end is not known."""

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
        """The wait for a member at an old epoch. Before Kafka 4.3 (KAFKA-20431) its current partitions lack those it must release."""
        if withheld := self._withheld():
            return Wait(member, withheld, self._waiting_for(member, withheld), WaitKind.RELEASE)
        return Wait(member, member.target, (), WaitKind.ANSWER)

    def _withheld(self) -> frozenset[TopicPartition]:
        """Partitions without an owner that are in the target of a member at the newest epoch."""
        known = (member.target for member in self.members if member.epoch == self.assignment_epoch)
        return frozenset().union(*known) - self.owners.keys()

    def _waiting_for(self, holder: MemberView, held: frozenset[TopicPartition]) -> tuple[str, ...]:
        others = (member for member in self.members if member is not holder)
        return tuple(sorted(member.name for member in others if member.target & held))


# --- the members that a group waits for ------------------------------------------------------------------------------

CLASSIC_IS_SILENT = "The coordinator of a classic group does not say which members it waits for."
_UNKNOWN = {
    "PreparingRebalance": f"{CLASSIC_IS_SILENT} Members that have not joined again are removed after their rebalance timeout, "
    "which is the longest max.poll.interval.ms among them.",
    "CompletingRebalance": f"{CLASSIC_IS_SILENT} All members have joined; the leader has not sent the assignment yet.",
}
_Key = tuple[str, int | None, WaitKind, TopicPartition | None]


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A group's description, and for each of its waits the seconds since it was first observed."""

    view: GroupView
    waits: tuple[tuple[Wait, float], ...]
    seen_s: float
    """Seconds since the group was first observed in this state."""


class Watch:
    """Remembers when each wait was first observed. Waits for one member, at one epoch, for one partition are the same wait."""

    def __init__(self) -> None:
        self._since: dict[_Key, float] = {}
        self._state, self._state_since = "", 0.0

    def see(self, view: GroupView, now: float) -> ObservedGroup:
        self._since = {key: self._since.get(key, now) for wait in view.waits() for key in _keys(wait)}
        if view.state != self._state:
            self._state, self._state_since = view.state, now
        waits = tuple((wait, now - self._began(wait)) for wait in view.waits())
        return ObservedGroup(view, waits, now - self._state_since)

    def _began(self, wait: Wait) -> float:
        return min(self._since[key] for key in _keys(wait))


def _keys(wait: Wait) -> list[_Key]:
    holder = wait.holder
    return [(holder.member_id, holder.epoch, wait.kind, partition) for partition in wait.partitions or (None,)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One member that the group waits for.

    The coordinator removes a dead member when its session ends: at most `removed_within_s` from now. A live member that must
    release partitions (it is then observed for longer than a session) has until its rebalance timeout, counted from the
    coordinator's request. That is its max.poll.interval.ms, five minutes by default; coordinators do not report it.
    """

    wait: Wait
    seen_s: float
    """Seconds since the wait was first observed; it may have begun earlier."""
    session_timeout_s: float | None
    """None without access to the group's settings, and for a classic member, which chooses its own timeout."""

    @property
    def holder(self) -> MemberView:
        return self.wait.holder

    @property
    def is_alive(self) -> bool:
        """The member keeps partitions for longer than a session, so it sends heartbeats. Other waits end with a heartbeat."""
        return self.is_overdue and self.wait.kind is WaitKind.RELEASE

    @property
    def is_overdue(self) -> bool:
        """Observed for longer than a session. A dead member would have been removed, unless the coordinator has moved."""
        return self.session_timeout_s is not None and self.seen_s > self.session_timeout_s

    @property
    def removed_within_s(self) -> float | None:
        """Seconds until the coordinator removes the member if it is dead; None if it is overdue or the timeout is not known."""
        return None if self.session_timeout_s is None or self.is_overdue else self.session_timeout_s - self.seen_s


@dataclass(frozen=True, slots=True)
class Waiting:
    """The members that a group waits for. `unknown` says why they cannot be known, or is empty."""

    view: GroupView
    blockers: tuple[Blocker, ...]
    unknown: str = ""
    seen_s: float = 0.0
    """Seconds since the group was first observed in its present state."""


def waiting(watched: ObservedGroup, session_timeout_s: float | None) -> Waiting:
    blockers = (
        Blocker(wait=wait, seen_s=seen_s, session_timeout_s=None if wait.holder.is_classic else session_timeout_s)
        for wait, seen_s in watched.waits
    )
    unknown = _UNKNOWN.get(watched.view.state, "") if watched.view.protocol == "classic" else ""
    return Waiting(watched.view, tuple(blockers), unknown, watched.seen_s)
