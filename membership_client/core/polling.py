"""The poll interval, for applications that poll: a budget with warnings, and a way out and back in."""

from __future__ import annotations

from membership_client.core import reasons
from membership_client.core.callbacks import tell_lost
from membership_client.core.copying import replace
from membership_client.core.events import Budget, Polled, Warn
from membership_client.core.leaving import depart
from membership_client.core.member import IN_GROUP, Member, Transition
from membership_client.core.rule import Rule
from membership_client.types import Cause, CauseKind, LeaveMode, MemberState

WARN_AT = (0.5, 0.8)


def polled(member: Member, event: Polled) -> Member:
    at = event.at if member.polled_at is None else max(event.at, member.polled_at)
    return replace(member, polled_at=at, poll_warnings=0)


def restarted(member: Member, now: float) -> Member:
    """A new subscription: the time without one is no time in which the application should have polled."""
    return member if member.polled_at is None else polled(member, Polled(now))


def _after(member: Member, fraction: float) -> float | None:
    if member.polled_at is None or member.state not in IN_GROUP:
        return None
    return member.polled_at + fraction * member.poll_interval_s


def _warn_due(member: Member) -> float | None:
    return _after(member, WARN_AT[member.poll_warnings]) if member.poll_warnings < len(WARN_AT) else None


def _warn(member: Member, now: float) -> Transition:
    assert member.polled_at is not None
    warning = Warn(Budget.POLL, now - member.polled_at, member.poll_interval_s)
    return replace(member, poll_warnings=member.poll_warnings + 1), (warning,)


def _expire_due(member: Member) -> float | None:
    return _after(member, 1.0)


def _expire(member: Member, now: float) -> Transition:
    """Out of the group at once: the application is busy, and others could use its partitions."""
    reason = f"{reasons.POLL_INTERVAL_EXCEEDED}: {member.poll_interval_s:g} s"
    cause = Cause(CauseKind.POLL_INTERVAL_EXCEEDED, reason)
    effects = tell_lost(member)
    member = depart(member, LeaveMode.DEFAULT, reason, cause, now, ending=MemberState.STALE)
    return replace(member, polled_at=None, poll_warnings=0, epoch=0), effects


WARN = Rule(_warn_due, _warn)
EXPIRE = Rule(_expire_due, _expire)
