"""Siblings, the members of one group in one process: what one of them tells the others, and when those send a heartbeat for it.

A member learns of a rebalance by a heartbeat, five seconds later by default. A sibling that joined, left or acknowledged knows
of it at once. It says so (`announced`), and each other sibling sends its heartbeat at once (`told`). A coordinator that does not
know the change yet, because the join is still on its way or it puts new targets off, is asked again after growing pauses.

Without a limit 100 members that join within a second would send each other 10,000 heartbeats. So a member sends one per epoch, and one
for all other changes since its last; and never more than MOST_AT_ONCE in a row and MOST_PER_INTERVAL over time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from membership_client.core.backoff import FRESH
from membership_client.core.events import Effect, Heartbeat, JoinGroup, LeaveGroup, Send, SiblingChange, SiblingChanged
from membership_client.core.member import IN_GROUP, Member, Transition
from membership_client.types import GroupProtocol, MemberState
from membership_client.values import replace

S = MemberState

MOST_AT_ONCE = 5
"""A rebalance takes two heartbeats of each member, for the target and for what others gave back; two may overlap."""
MOST_PER_INTERVAL = 10
"""After those, one in each tenth of the interval: siblings that come and go without end cost ten heartbeats in place of one."""
FIRST_PAUSE = 1 / 50
"""The part of the interval until the coordinator is asked again: the connection for the sibling's join may still have to be opened."""
LONGEST_WAIT = 1 / 2
"""The part of the interval until the heartbeat is no longer repeated. By default a coordinator puts targets off for a fifth of it."""

_REPEATED = frozenset({SiblingChange.LEFT, SiblingChange.JOINS})
"""A coordinator may put off the next target after a leave, and may get a join later than a sibling's heartbeat."""

# --- the sibling that changed ----------------------------------------------------------------------------------------


def announced(before: Member, effects: Sequence[Effect], after: Member) -> SiblingChanged | None:
    """What a step tells the siblings of its member; None for most steps."""
    change = _change(before, effects, after)
    return None if change is None else SiblingChanged(change, max(after.epoch, 0))


def _change(before: Member, effects: Sequence[Effect], after: Member) -> SiblingChange | None:
    if _has_left(before, after):
        return SiblingChange.LEFT
    # A join that is refused and sent again, as by a full group every second, would keep all siblings busy.
    if before.dialogue_backoff == FRESH and any(map(_rebalances, effects)):
        return SiblingChange.JOINS
    if after.protocol is GroupProtocol.CLASSIC:
        return None  # Joins precede every other change in a classic group.
    if _gave_back(before, after):
        return SiblingChange.GAVE_BACK
    return SiblingChange.NEW_EPOCH if after.epoch > max(before.epoch, 0) else None


def _has_left(before: Member, after: Member) -> bool:
    """Has it left for good? The coordinator keeps the partitions of a static member that leaves temporarily."""
    if before.departure is None or before.dialogue is None or not before.enrolled or after.enrolled:
        return False
    request = before.dialogue.request
    return isinstance(request, LeaveGroup) or (isinstance(request, Heartbeat) and request.epoch == -1)


def _rebalances(effect: Effect) -> bool:
    """Is it a join that makes the group rebalance? A join without any id is only answered with a member id."""
    request = effect.request if isinstance(effect, Send) else None
    return isinstance(request, JoinGroup) and bool(request.member_id or request.instance_id)


def _gave_back(before: Member, after: Member) -> bool:
    """Does the coordinator know now of partitions that the member no longer has?"""
    known, now_known = before.accepted, after.accepted
    if now_known is None or now_known is known or before.epoch <= 0:
        return False
    # Without `known` there was a failure, after which a member repeats what it owns: only an acknowledgement is news then.
    return before.state is S.ACK if known is None else bool(known.owned - now_known.owned)


# --- the siblings that are told --------------------------------------------------------------------------------------


def are_siblings(one: Member, other: Member) -> bool:
    """Are they in one group? The address of its coordinator tells clusters apart, however they are bootstrapped."""
    return (
        one.coordinator is not None
        and one.coordinator == other.coordinator
        and one.config.group_id == other.config.group_id
    )


def concerns(member: Member, event: SiblingChanged) -> bool:
    """May a heartbeat bring the member something that it would not hear anyway?"""
    if member.state not in IN_GROUP or not member.enrolled or _joins(member):
        return False
    if event.change is SiblingChange.NEW_EPOCH:
        return event.epoch > max(member.epoch, member.prompt.told_epoch)
    return True


def _joins(member: Member) -> bool:
    """Is a classic join due or under way? Its answer will be about all members that have joined."""
    if member.protocol is not GroupProtocol.CLASSIC:
        return False
    flight, classic = member.dialogue, member.classic
    is_due = classic.rejoin is not None or (member.state is S.JOINING and classic.admission is None)
    return is_due or (flight is not None and isinstance(flight.request, JoinGroup))


def told(member: Member, event: SiblingChanged, now: float) -> Transition:
    """A heartbeat is due: now, or a moment later if the change is on its way to the coordinator."""
    if not concerns(member, event):
        return member, ()
    prompt, change = member.prompt, event.change
    at = now + (_pause_s(member) if change is SiblingChange.JOINS else 0.0)
    prompt = replace(
        prompt,
        due=at if prompt.due is None else min(at, prompt.due),
        needless_from=_needless_from(member, event),
        repeat_since=now if change in _REPEATED else prompt.repeat_since,
        told_epoch=event.epoch if change is SiblingChange.NEW_EPOCH else prompt.told_epoch,
    )
    return replace(member, prompt=prompt), ()


def _needless_from(member: Member, event: SiblingChanged) -> int | None:
    """The epoch with which an answer to an earlier heartbeat says all that this one could."""
    before = member.prompt
    if event.change is SiblingChange.GAVE_BACK or (before.due is not None and before.needless_from is None):
        return None
    news = event.epoch if event.change is SiblingChange.NEW_EPOCH else member.epoch + 1
    return news if before.due is None or before.needless_from is None else max(news, before.needless_from)


def _pause_s(member: Member) -> float:
    return FIRST_PAUSE * member.interval_s


def due(member: Member) -> float:
    """When a heartbeat is due because of siblings; infinity if none is."""
    prompt = member.prompt
    return math.inf if prompt.due is None else max(prompt.due, prompt.not_before)


def sent(member: Member, now: float) -> Member:
    """A heartbeat was sent, for whatever reason: it is repeated if the coordinator may not know yet what it is about."""
    prompt = member.prompt
    if prompt.due is None:
        return member
    share_s = member.interval_s / MOST_PER_INTERVAL
    # A token bucket of MOST_AT_ONCE, which gets one token each `share_s`: it is empty until `not_before`.
    not_before = max(prompt.not_before, now - (MOST_AT_ONCE - 1) * share_s) + share_s
    again = None if prompt.repeat_since is None else _again_at(member, prompt.repeat_since, now)
    since = None if again is None else prompt.repeat_since
    return replace(member, prompt=replace(prompt, due=again, repeat_since=since, not_before=not_before))


def _again_at(member: Member, since: float, now: float) -> float | None:
    """Each pause is as long as the time since the change, so that few heartbeats cover a long time."""
    at = now + max(now - since, _pause_s(member))
    return at if at - since <= LONGEST_WAIT * member.interval_s else None


def answered(member: Member, epoch: int) -> Member:
    """The coordinator told an epoch. If it is new enough, it covers what siblings have told, and no heartbeat is due for that."""
    needless_from = member.prompt.needless_from
    return member if needless_from is None or epoch < needless_from else settled(member)


def settled(member: Member) -> Member:
    """No heartbeat is due because of siblings any more. The limit and the epoch that was told stay."""
    if member.prompt.due is None:
        return member
    return replace(member, prompt=replace(member.prompt, due=None, repeat_since=None))
