"""Starts a membership: first, after a fence, when the application polls again, or in the other protocol."""

from __future__ import annotations

from membership_client.core import reasons
from membership_client.core.backoff import ASAP, FRESH
from membership_client.core.budgets import restarted
from membership_client.core.classic.protocol import restarted_classic
from membership_client.core.member import (
    Member,
    Prompt,
    Transition,
    move,
)
from membership_client.core.rule import Rule
from membership_client.subscriptions import NO_GENERATION
from membership_client.types import Cause, CauseKind, GroupProtocol, MemberState
from membership_client.values import replace

S = MemberState


def _start_due(member: Member) -> float | None:
    if member.call is not None or member.departure is not None or member.id_conflict is not None:
        return None
    if member.state is S.UNSUBSCRIBED:
        return ASAP if member.subscription else None
    if member.state is S.FENCED:
        return member.dialogue_backoff.not_before if member.subscription else ASAP
    if member.state is S.STALE:
        return ASAP if member.polled_at is not None or member.subscription is None else None
    return None


def _start(member: Member, now: float) -> Transition:
    if member.subscription is None:
        return move(member, S.UNSUBSCRIBED), ()
    again = {S.FENCED: "joined again after a fence", S.STALE: "joined again: the application polls again"}
    cause = Cause(CauseKind.JOINED, again.get(member.state, "joined the group"))
    if member.state is S.UNSUBSCRIBED:
        member = restarted(member, now)
    return begin(replace(move(member, S.JOINING), cause=cause, classic=restarted_classic(member, _reason(member)))), ()


def _reason(member: Member) -> str:
    """The reason that a classic join states."""
    if member.state is S.FENCED and member.cause is not None:
        # The session ended at the coordinator, too, so it refuses the next join. The first reason stays.
        is_same = member.classic.reason == reasons.SESSION_ENDED and member.classic.planned_in == NO_GENERATION
        return reasons.SESSION_ENDED if is_same else reasons.after_fence(member.cause.detail)
    return reasons.POLLS_AGAIN if member.state is S.STALE else reasons.SUBSCRIBED


def begin(member: Member) -> Member:
    """Reset what belongs to an earlier membership; its protocol may have been the other one.

    Epoch, target and `accepted` were reset when that membership ended.
    """
    is_classic = member.protocol is GroupProtocol.CLASSIC
    return replace(
        member,
        interval_s=member.config.heartbeat_interval_ms / 1000 if is_classic else member.interval_s,
        stated=None,
        greeted=False,
        owed_gap_s=None,
        prompt=Prompt(not_before=member.prompt.not_before),
        names={},
        denied_until=None,
    )


def fall_back(member: Member) -> Member:
    """These brokers do not have KIP-848, or not for this group, and the member may speak either protocol."""
    return begin(
        replace(
            member,
            settled=GroupProtocol.CLASSIC,
            dialogue=None,
            enrolled=False,
            id_conflict=None,
            dialogue_backoff=FRESH,
        )
    )


def may_fall_back(member: Member) -> bool:
    undecided = member.config.group_protocol == "auto" and member.settled is None
    return undecided and member.state is S.JOINING


START = Rule(_start_due, _start)
