"""Heartbeats beside a join that waits for other members.

A coordinator holds a join back until the slowest member has joined, which may take minutes, and a join that was lost on the
way looks the same. Members of a cooperative group keep partitions meanwhile, but lose them as soon as the coordinator drops
the member. So they send heartbeats beside the join. The coordinator answers that the group rebalances, or that it does not
know the member any more. If it answers neither for a whole session, the partitions are lost.
"""

from __future__ import annotations

import functools

from membership_client.core.classic.group_join import send_heartbeat
from membership_client.core.classic.protocol import heartbeat
from membership_client.core.error_codes import Code
from membership_client.core.events import HeartbeatConfirmed, Refused, Response
from membership_client.core.member import IN_GROUP, InFlight, Member, Transition
from membership_client.core.refusals import refused
from membership_client.core.requests import may_be_held_back
from membership_client.core.rule import Rule
from membership_client.values import replace

_GIVEN_UP = frozenset({Code.UNKNOWN_MEMBER_ID, Code.FENCED_INSTANCE_ID, Code.GROUP_ID_NOT_FOUND})
"""Codes by which the coordinator says that it dropped the member.

ILLEGAL_GENERATION is none of them: the answer to our join, which brings the new generation, may be on its way.
"""


def _keeps_waiting(member: Member) -> bool:
    return may_be_held_back(member.dialogue) and bool(member.owned) and member.epoch > 0 and member.state in IN_GROUP


def _ask_due(member: Member) -> float | None:
    if member.join_keepalive is not None or member.coordinator is None or not _keeps_waiting(member):
        return None
    return max(member.heartbeat_due, member.dialogue_backoff.not_before)


ASK = Rule(_ask_due, functools.partial(send_heartbeat, slot="join_keepalive"))


def answered(member: Member, flight: InFlight, response: Response, now: float) -> Transition:
    """Take in an answer, unless the heartbeat was sent under an old member id or generation."""
    member = replace(member, join_keepalive=None)
    if not _keeps_waiting(member) or flight.request != heartbeat(member):
        return member, ()
    code = response.code if isinstance(response, Refused) else None
    if isinstance(response, HeartbeatConfirmed) or code == Code.REBALANCE_IN_PROGRESS:
        return replace(member, confirmed_at=flight.sent_at), ()
    if isinstance(response, Refused) and code in _GIVEN_UP:
        return refused(member, flight, response, now)
    return member, ()


def failed(member: Member) -> Member:
    """No answer came. The next heartbeat is due an interval after the failed one."""
    return replace(member, join_keepalive=None)
