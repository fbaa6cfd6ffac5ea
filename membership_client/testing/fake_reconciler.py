"""How a coordinator brings one member to its target: first the member revokes, at the old epoch; then it gains, at the new one."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import UUID

from membership_client.core.events import JoinGroup
from membership_client.partitions import NOTHING, Partitions


class ReconcileProgress(enum.Enum):
    """How far a member is on the way to its target."""

    STABLE = "stable"
    UNREVOKED = "unrevoked"
    """The member has not yet acknowledged the pending revocation: its rebalance timer runs."""
    UNRELEASED = "unreleased"
    """Other members still hold partitions of its target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    """A member as the coordinator knows it."""

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    host: str = ""
    rebalance_timeout_s: float = -1.0
    topics: frozenset[str] = frozenset()
    regex: str = ""
    assignor: str | None = None
    """The assignor that the member asks for."""
    rack_id: str | None = None
    classic: JoinGroup | None = None
    """The last JoinGroup of a classic member; None for KIP-848 members."""
    epoch: int = 0
    previous_epoch: int = -1
    progress: ReconcileProgress = ReconcileProgress.STABLE
    assigned: Partitions = NOTHING
    """The partitions that the member may use now."""
    pending: Partitions = NOTHING
    """The partitions that the member was told to revoke and has not released yet."""
    gained: tuple[tuple[int, Partitions], ...] = ()
    """The partitions of `assigned` by the epoch at which the member gained them, the oldest first."""

    @property
    def known_to_hold(self) -> Partitions:
        """The assignment that a broker describes, with the partitions that the member must still revoke."""
        return self.assigned | self.pending

    def held_since(self, topic: UUID, number: int) -> int | None:
        """The epoch at which the partition was assigned to the member; None if the member does not hold it."""
        return next((epoch for epoch, held in self.gained if number in held.by_topic.get(topic, ())), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The target of a member, and the partitions that it says it owns. None: it does not say, and counts as owning all."""

    epoch: int
    partitions: Partitions
    subscribed: frozenset[UUID]
    resubscribed: bool
    owned: Partitions | None
    held_by_others: Callable[[Partitions], Partitions]


def reconcile(member: Enrolled, goal: Goal) -> Enrolled:
    """The member's next state; the same state if nothing can be done now."""
    arrived = member.progress is ReconcileProgress.STABLE and member.epoch == goal.epoch
    waits = member.progress is ReconcileProgress.UNREVOKED and _still_owns(goal.owned, member.pending)
    if arrived or waits:
        return _drop_unsubscribed(member, goal) if goal.resubscribed else member
    return _advance(member, goal)


def _advance(member: Enrolled, goal: Goal) -> Enrolled:
    wanted = goal.partitions.of_topics(goal.subscribed)
    revoked = member.assigned - wanted
    kept = member.assigned - revoked
    missing = wanted - kept
    if revoked and _still_owns(goal.owned, revoked):
        return _at(member, member.epoch, ReconcileProgress.UNREVOKED, kept, revoked)
    unreleased = goal.held_by_others(missing)
    progress = ReconcileProgress.UNRELEASED if unreleased else ReconcileProgress.STABLE
    return _at(member, goal.epoch, progress, kept | (missing - unreleased), NOTHING)


def _drop_unsubscribed(member: Enrolled, goal: Goal) -> Enrolled:
    """Remove topics to which the member no longer subscribes, even if the target is older than that."""
    kept = member.assigned.of_topics(goal.subscribed)
    dropped = member.assigned - kept
    if not dropped:
        return member
    pending = member.pending | dropped
    if _still_owns(goal.owned, pending):
        return _at(member, member.epoch, ReconcileProgress.UNREVOKED, kept, pending)
    return _at(member, member.epoch, member.progress, kept, member.pending)


def _at(
    member: Enrolled, epoch: int, progress: ReconcileProgress, assigned: Partitions, pending: Partitions
) -> Enrolled:
    moved = replace(
        member, epoch=epoch, previous_epoch=member.epoch, progress=progress, assigned=assigned, pending=pending
    )
    held = moved.known_to_hold
    kept = tuple((since, rest) for since, all_ in member.gained if (rest := intersection(all_, held)))
    new = held - member.known_to_hold
    return replace(moved, gained=(*kept, (epoch, new)) if new else kept)


def _still_owns(owned: Partitions | None, revoked: Partitions) -> bool:
    return owned is None or bool(intersection(owned, revoked))


def intersection(one: Partitions, other: Partitions) -> Partitions:
    return one - (one - other)
