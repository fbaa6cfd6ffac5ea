"""Brings the owned partitions to the target: revoke, then assign, then acknowledge.

A new target replaces the old one at once, also while a callback runs. That callback is never cut short; when it returns,
`owned` changes by its partitions, and is then compared with the newest target. Nothing is queued.
"""

from __future__ import annotations

from membership_client.core.backoff import ASAP, FRESH
from membership_client.core.callbacks import run
from membership_client.core.events import CallbackKind, ResolveTopics, TopicsResolved
from membership_client.core.leaving import callback_deadline
from membership_client.core.member import Member, Transition, move
from membership_client.core.requests import send, slow_down
from membership_client.core.rule import Rule
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import MemberState
from membership_client.values import replace

S = MemberState


def _to_revoke(member: Member) -> Partitions:
    return member.owned - member.target.partitions if member.target else NOTHING


def _to_assign(member: Member) -> Partitions:
    """Partitions of the target that are not owned and whose topic is known by name."""
    return member.target.partitions.of_topics(member.names) - member.owned if member.target else NOTHING


def _announces_nothing(member: Member) -> bool:
    """A first empty share is announced too, so that every join ends in an assigned callback."""
    return not member.greeted and member.target is not None and not member.target.partitions


def _reconcile_due(member: Member) -> float | None:
    if member.state is not S.RECONCILING or member.call is not None:
        return None
    if _to_revoke(member):
        return ASAP
    if _to_assign(member) or _announces_nothing(member):
        return member.call_backoff.not_before
    return None if member.unresolved else ASAP


def _reconcile(member: Member, now: float) -> Transition:
    if revoked := _to_revoke(member):
        return run(member, CallbackKind.REVOKED, revoked, now, now + member.poll_interval_s)
    assigned = _to_assign(member)
    if assigned or _announces_nothing(member):
        return run(member, CallbackKind.ASSIGNED, assigned, now, None)
    assert member.target is not None
    return replace(move(member, S.ACK), reconciled=member.target.number), ()


RECONCILE = Rule(_reconcile_due, _reconcile)


def _settle_due(member: Member) -> float | None:
    # The number suffices: what is owned changes before ACK only, and each target has a number of its own.
    confirmed = member.accepted is not None and member.accepted.reconciled == member.reconciled
    return ASAP if member.state is S.ACK and confirmed else None


def _settle(member: Member, now: float) -> Transition:
    return replace(move(member, S.STABLE), fences=0), ()


CONFIRM = Rule(_settle_due, _settle)


def _give_back_due(member: Member) -> float | None:
    return ASAP if member.state is S.LEAVING and member.owned and member.call is None else None


def _give_back(member: Member, now: float) -> Transition:
    kind = CallbackKind.REVOKED if member.epoch > 0 else CallbackKind.LOST
    assert member.departure is not None
    return run(member, kind, member.owned, now, callback_deadline(member.departure, now))


GIVE_BACK = Rule(_give_back_due, _give_back)

# --- names -----------------------------------------------------------------------------------------------------------


def _resolve_due(member: Member) -> float | None:
    if member.coordinator is None or member.naming is not None:
        return None
    return member.naming_backoff.not_before if member.unresolved else None


def _resolve(member: Member, now: float) -> Transition:
    return send(member, "naming", ResolveTopics(topic_ids=member.unresolved), now, to=member.coordinator)


RESOLVE = Rule(_resolve_due, _resolve)


def named(member: Member, answer: TopicsResolved, now: float) -> Member:
    """The broker told names. Topics that it does not know (yet, or any more) are asked for again, with growing pauses."""
    names = {topic: name for topic, name in answer.names.items() if topic in member.unresolved}
    member = replace(member, naming=None, names={**member.names, **names})
    return unnamed(member, now) if member.unresolved else replace(member, naming_backoff=FRESH)


def unnamed(member: Member, now: float) -> Member:
    return slow_down(replace(member, naming=None), "naming_backoff", now, cap_s=member.interval_s)
