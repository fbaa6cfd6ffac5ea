"""The members that a group waits for: since when they are waited for, and how long that can last."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.admin.quiet import QuietMember, QuietMembers
from membership_client.admin.views import GroupView, MemberView, Wait, WaitKind
from membership_client.types import TopicPartition

CLASSIC_IS_SILENT = "The coordinator of a classic group does not say which members it waits for."
_UNKNOWN = {
    "PreparingRebalance": f"{CLASSIC_IS_SILENT} Members that have not joined again are removed after their rebalance timeout, "
    "which is the longest max.poll.interval.ms among them.",
    "CompletingRebalance": f"{CLASSIC_IS_SILENT} All members have joined; the leader has not sent the assignment yet.",
}
_Key = tuple[str, int | None, WaitKind, TopicPartition | None]


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A group's description, and for each of its waits the seconds since the wait was first observed."""

    view: GroupView
    waits: tuple[tuple[Wait, float], ...]
    seen_s: float
    """Seconds since the group was first observed in this state."""
    quiet: tuple[QuietMember, ...] = ()
    """Members that commit nothing although records wait for them."""


class WaitWatch:
    """Remembers when each wait was first observed. Two waits for one member, at one epoch and for one partition are the same wait."""

    def __init__(self) -> None:
        self._since: dict[_Key, float] = {}
        self._state, self._state_since = "", 0.0
        self._quiet = QuietMembers()

    def see(self, view: GroupView, now: float) -> ObservedGroup:
        self._since = {key: self._since.get(key, now) for wait in view.waits() for key in _keys(wait)}
        if view.state != self._state:
            self._state, self._state_since = view.state, now
        waits = tuple((wait, now - self._began(wait)) for wait in view.waits())
        return ObservedGroup(view, waits, now - self._state_since, self._quiet.see(view, now))

    def _began(self, wait: Wait) -> float:
        return min(self._since[key] for key in _keys(wait))


def _keys(wait: Wait) -> list[_Key]:
    holder = wait.holder
    return [(holder.member_id, holder.epoch, wait.kind, partition) for partition in wait.partitions or (None,)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One member that the group waits for.

    The coordinator removes a dead member when its session ends, at most `removed_within_s` from now. A live member (one that is
    observed for longer than a session) may take its rebalance timeout to release partitions, counted from the coordinator's
    request. This is its max.poll.interval.ms, five minutes by default; coordinators do not report it.
    """

    wait: Wait
    seen_s: float
    """Seconds since the wait was first observed; it may have begun earlier."""
    session_timeout_s: float | None
    """The session timeout; None if the user may not read the group's settings, or the member is classic and chooses its own."""

    @property
    def holder(self) -> MemberView:
        return self.wait.holder

    @property
    def is_alive(self) -> bool:
        """Whether the member keeps partitions for longer than a session, and so sends heartbeats. Other waits end with a heartbeat."""
        return self.is_overdue and self.wait.kind is WaitKind.RELEASE

    @property
    def is_overdue(self) -> bool:
        """Whether the wait has been observed for longer than a session: a dead member would have been removed, unless the coordinator has moved."""
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
    quiet: tuple[QuietMember, ...] = ()
    """Other members that commit nothing although records wait for them: stopped, stuck at a record, or dead and not yet removed."""
    session_timeout_s: float | None = None
    """The session timeout of the group's KIP-848 members; None if it is not known."""


def waiting(watched: ObservedGroup, session_timeout_s: float | None) -> Waiting:
    blockers = (
        Blocker(wait=wait, seen_s=seen_s, session_timeout_s=None if wait.holder.is_classic else session_timeout_s)
        for wait, seen_s in watched.waits
    )
    unknown = _UNKNOWN.get(watched.view.state, "") if watched.view.protocol == "classic" else ""
    blocking = {wait.holder.member_id for wait, _ in watched.waits}
    quiet = tuple(one for one in watched.quiet if one.member.member_id not in blocking)
    return Waiting(watched.view, tuple(blockers), unknown, watched.seen_s, quiet, session_timeout_s)
