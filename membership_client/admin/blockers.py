"""Who holds a group back, and how long that can go on."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.admin.views import GroupView, MemberView, Wait, WaitKind
from membership_client.admin.watching import Watched

_SILENT = "The coordinator of a classic group does not tell who is waited for."
_UNKNOWN = {
    "PreparingRebalance": f"{_SILENT} Members that have not joined again are removed after their rebalance timeout, "
    "which is the longest max.poll.interval.ms among them.",
    "CompletingRebalance": f"{_SILENT} All have joined; the leader has not sent the assignment yet.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One member that is waited for.

    A member that is dead is removed when its session ends: at most `removed_within_s` from now. One that is to release
    something and lives (it is then seen for longer than a session) has until its own rebalance timeout, counted from when
    it was asked to: that is its max.poll.interval.ms, five minutes by default, which coordinators do not tell.
    """

    wait: Wait
    seen_s: float
    """For how long it has been observed; it may have begun before."""
    session_timeout_s: float | None
    """None where we may not ask for the group's settings, and of a classic member, which has chosen its own."""

    @property
    def holder(self) -> MemberView:
        return self.wait.holder

    @property
    def is_alive(self) -> bool:
        """Holds on for longer than a session: its heartbeats keep coming. The other waits would end with a heartbeat."""
        return self.is_overdue and self.wait.kind is WaitKind.RELEASE

    @property
    def is_overdue(self) -> bool:
        """Observed for longer than a session, after which a dead one is removed, unless its coordinator has moved."""
        return self.session_timeout_s is not None and self.seen_s > self.session_timeout_s

    @property
    def removed_within_s(self) -> float | None:
        """If it is dead, it is removed within this time at most; None if it is not, or that is not known."""
        return None if self.session_timeout_s is None or self.is_overdue else self.session_timeout_s - self.seen_s


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whom a group waits for. `unknown` says why nobody can tell, or is empty."""

    view: GroupView
    blockers: tuple[Blocker, ...]
    unknown: str = ""
    seen_s: float = 0.0
    """For how long the group has been observed in the state that it is in."""


def waiting(watched: Watched, session_timeout_s: float | None) -> Waiting:
    blockers = (
        Blocker(wait=wait, seen_s=seen_s, session_timeout_s=None if wait.holder.is_classic else session_timeout_s)
        for wait, seen_s in watched.waits
    )
    unknown = _UNKNOWN.get(watched.view.state, "") if watched.view.protocol == "classic" else ""
    return Waiting(watched.view, tuple(blockers), unknown, watched.seen_s)
