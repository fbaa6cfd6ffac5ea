"""Budgets of time: the poll interval, a callback that the group waits for, a close. Each warns before it is used up.

A member that exceeds the poll interval leaves the group, and comes back when the application polls again.
"""

from __future__ import annotations

from membership_client.core import reasons
from membership_client.core.callbacks import tell_lost
from membership_client.core.events import Budget, LookAtCallback, Polled, Warn
from membership_client.core.leaving import GIVE_UP, depart
from membership_client.core.member import IN_GROUP, Member, Transition
from membership_client.core.rule import Rule
from membership_client.types import Cause, CauseKind, LeaveMode, MemberState
from membership_client.values import replace

# --- the poll interval -----------------------------------------------------------------------------------------------


POLL_WARNINGS_AT = (0.5, 0.8)


def polled(member: Member, event: Polled) -> Member:
    at = event.at if member.polled_at is None else max(event.at, member.polled_at)
    return replace(member, polled_at=at, poll_warnings=0)


def restarted(member: Member, now: float) -> Member:
    """A new subscription restarts the poll interval: without a subscription the application need not poll."""
    return member if member.polled_at is None else polled(member, Polled(now))


def _after(member: Member, fraction: float) -> float | None:
    if member.polled_at is None or member.state not in IN_GROUP:
        return None
    return member.polled_at + fraction * member.poll_interval_s


def _warn_due(member: Member) -> float | None:
    return (
        _after(member, POLL_WARNINGS_AT[member.poll_warnings]) if member.poll_warnings < len(POLL_WARNINGS_AT) else None
    )


def _warn(member: Member, now: float) -> Transition:
    assert member.polled_at is not None
    warning = Warn(Budget.POLL, now - member.polled_at, member.poll_interval_s)
    return replace(member, poll_warnings=member.poll_warnings + 1), (warning,)


def _expire_due(member: Member) -> float | None:
    return _after(member, 1.0)


def _expire(member: Member, now: float) -> Transition:
    """Leave the group at once: the application is busy, and other members can process its partitions."""
    reason = f"{reasons.POLL_INTERVAL_EXCEEDED}: {member.poll_interval_s:g} s"
    cause = Cause(CauseKind.POLL_INTERVAL_EXCEEDED, reason)
    effects = tell_lost(member)
    member = depart(member, LeaveMode.DEFAULT, reason, cause, now, ending=MemberState.STALE)
    return replace(member, polled_at=None, poll_warnings=0, epoch=0), effects


WARN = Rule(_warn_due, _warn)
EXPIRE = Rule(_expire_due, _expire)


# --- callbacks and closes --------------------------------------------------------------------------------------------


WARN_AT = 0.5


def _warn_of_call_due(member: Member) -> float | None:
    call = member.call
    return None if call is None or call.warned else call.began_at + WARN_AT * member.poll_interval_s


def _warn_of_call(member: Member, now: float) -> Transition:
    call = member.call
    assert call is not None
    warning = Warn(Budget.CALLBACK, now - call.began_at, member.poll_interval_s, call.call_id)
    return replace(member, call=replace(call, warned=True)), (warning,)


WARN_OF_CALL = Rule(_warn_of_call_due, _warn_of_call)


FIRST_LOOK_S = 1.0
"""When the stack of a callback's thread is first noted. It is noted again after 2 s, 4 s, 8 s and so on: nine times in five minutes."""


def _look_due(member: Member) -> float | None:
    call = member.call
    return None if call is None else call.began_at + FIRST_LOOK_S * 2.0**call.looks


def _look(member: Member, now: float) -> Transition:
    call = member.call
    assert call is not None
    looked = replace(member, call=replace(call, looks=call.looks + 1))
    return looked, (LookAtCallback(call.call_id, now - call.began_at),)


LOOK_AT_CALL = Rule(_look_due, _look)


def _warn_of_close_due(member: Member) -> float | None:
    departure, at = member.departure, GIVE_UP.due(member)
    if departure is None or not departure.closes or departure.warned or at is None:
        return None
    return departure.began_at + WARN_AT * (at - departure.began_at)


def _warn_of_close(member: Member, now: float) -> Transition:
    departure, at = member.departure, GIVE_UP.due(member)
    assert departure is not None
    assert at is not None
    warning = Warn(Budget.CLOSE, now - departure.began_at, at - departure.began_at)
    return replace(member, departure=replace(departure, warned=True)), (warning,)


WARN_OF_CLOSE = Rule(_warn_of_close_due, _warn_of_close)
