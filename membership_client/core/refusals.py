"""Carries out the policy tables for a refused join, sync or heartbeat."""

from __future__ import annotations

from membership_client.core import instance_id_conflict, policy, reasons
from membership_client.core.classic import group_join
from membership_client.core.error_codes import Code, code_name
from membership_client.core.events import Refused
from membership_client.core.fencing import enrolled_as_before, fatal, fence
from membership_client.core.heartbeats import deny
from membership_client.core.joining import fall_back, may_fall_back
from membership_client.core.member import InFlight, Member, Transition, with_problem
from membership_client.core.policy import Reaction, denied
from membership_client.core.requests import forget_coordinator, slow_down
from membership_client.errors import Problem, ProblemKind
from membership_client.types import MemberState
from membership_client.values import replace

S = MemberState

_HEEDED_WHEN_LEAVING = frozenset(
    {Reaction.FENCE, Reaction.FENCE_UNKNOWN, Reaction.SUPERSEDED, Reaction.REDISCOVER, Reaction.REBALANCE}
)


_WITHOUT_KIP_848 = frozenset({Code.UNSUPPORTED_VERSION, Code.GROUP_ID_NOT_FOUND})
"""Said to a member that joins by KIP-848: the brokers may not use it, or the group is a classic one that they do not
upgrade, because its members' assignor has data of its own, it is too large, or the brokers' migration policy forbids it."""


def refused(member: Member, flight: InFlight, answer: Refused, now: float) -> Transition:  # noqa: PLR0911, C901 - one per row
    """The coordinator refused what was said about our membership. The next heartbeat says everything."""
    if answer.code in _WITHOUT_KIP_848 and may_fall_back(member):
        return fall_back(member), ()
    member = replace(member, dialogue=None, accepted=None)
    match _action(member, flight, answer):
        case Reaction.FENCE:
            return fence(member, _said(answer), now, known=True)
        case Reaction.FENCE_UNKNOWN:
            return fence(member, _said(answer), now, known=False)
        case Reaction.SUPERSEDED:
            return instance_id_conflict.superseded(member, answer.message, now)
        case Reaction.INSTANCE_ID_HELD:
            return instance_id_conflict.refused(member, answer.message, now)
        case Reaction.FULL:
            return _full(member, answer, flight, now)
        case Reaction.REBALANCE:
            return group_join.rebalances(member, flight, now), ()
        case Reaction.MISMATCH:
            return group_join.mismatched(enrolled_as_before(member, flight), now)
        case Reaction.FATAL:
            return _fatal(enrolled_as_before(member, flight), answer, flight)
        case Reaction.DENIED_TOPIC:
            return deny(member, Problem(kind=ProblemKind.TOPIC_DENIED, detail=_why(member, flight, answer)), now), ()
        case Reaction.REDISCOVER:
            return _again(forget_coordinator(member), answer, now)
        case _:
            return _again(member, answer, now)


def _action(member: Member, flight: InFlight, answer: Refused) -> Reaction:
    """What the table says of the code; for some codes it depends on whether we were in the group."""
    action = policy.REQUESTS[type(flight.request)].get(answer.code, Reaction.FATAL)
    if member.state is S.LEAVING:
        return action if action in _HEEDED_WHEN_LEAVING else Reaction.RETRY
    if action is Reaction.NO_GROUP:
        return Reaction.FENCE_UNKNOWN if member.epoch > 0 else Reaction.FATAL
    if action is Reaction.FULL and member.epoch > 0:
        # A full group refuses a dropped member with this code, before it says that it does not know the member.
        return Reaction.FENCE_UNKNOWN
    if action is Reaction.INSTANCE_ID_HELD and (member.epoch > 0 or member.config.group_instance_id is None):
        return Reaction.FENCE
    return action


def _said(answer: Refused) -> str:
    return f"{code_name(answer.code)}: {answer.message}" if answer.message else f"{code_name(answer.code)}."


def _why(member: Member, flight: InFlight, answer: Refused) -> str:
    missing = denied(member, flight.request, answer.code)
    return f"{missing} ({_said(answer).rstrip('.')})." if missing else _said(answer)


def _again(member: Member, answer: Refused, now: float) -> Transition:
    member = with_problem(member, Problem(kind=ProblemKind.REJECTED, detail=_said(answer)))
    member = group_join.restarted(member, f"{reasons.COORDINATOR_ERROR} {code_name(answer.code)}")
    return slow_down(member, "dialogue_backoff", now), ()


def _full(member: Member, answer: Refused, flight: InFlight, now: float) -> Transition:
    wait_s = member.config.retry_when_full_s
    # A full group forgets the member that it refuses, and the id that it gave out.
    member = replace(member, enrolled=False)
    if wait_s is None:
        return _fatal(member, answer, flight)
    member = with_problem(member, Problem(kind=ProblemKind.WAITING_FOR_ROOM, detail=_said(answer)))
    return replace(member, dialogue_backoff=member.dialogue_backoff.wait_until(now + wait_s)), ()


def _fatal(member: Member, answer: Refused, flight: InFlight) -> Transition:
    kind = policy.FATAL_KINDS.get(answer.code, ProblemKind.UNEXPECTED)
    return fatal(member, Problem(kind=kind, detail=_why(member, flight, answer)))
