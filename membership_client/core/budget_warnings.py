"""Budgets that are being eaten: a callback the group waits for, a close that is bounded. Each warns once, at half."""

from __future__ import annotations

from membership_client.core.copying import replace
from membership_client.core.events import Budget, Warn
from membership_client.core.leaving import GIVE_UP
from membership_client.core.member import Member, Transition
from membership_client.core.rule import Rule

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
