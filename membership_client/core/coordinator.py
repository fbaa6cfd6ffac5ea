"""Finds the group's coordinator whenever a request has to be sent to it."""

from __future__ import annotations

from membership_client.core import policy
from membership_client.core.backoff import FRESH
from membership_client.core.error_codes import code_name
from membership_client.core.events import CoordinatorFound, FindCoordinator, Refused, Response
from membership_client.core.fencing import fatal
from membership_client.core.heartbeats import stays_while_leaving
from membership_client.core.leaving import is_telling
from membership_client.core.member import IN_GROUP, Member, Transition, with_problem
from membership_client.core.policy import Reaction, denied
from membership_client.core.requests import send, slow_down
from membership_client.core.rule import Rule
from membership_client.errors import Problem, ProblemKind
from membership_client.types import MemberState
from membership_client.values import replace


def _needs_coordinator(member: Member) -> bool:
    return (
        member.state in IN_GROUP or is_telling(member) or member.id_conflict is not None or stays_while_leaving(member)
    )


def _look_up_due(member: Member) -> float | None:
    if member.coordinator is not None or member.lookup is not None or not _needs_coordinator(member):
        return None
    return member.lookup_backoff.not_before


def _look_up(member: Member, now: float) -> Transition:
    return send(member, "lookup", FindCoordinator(group_id=member.config.group_id), now, to=None)


LOOK_UP = Rule(_look_up_due, _look_up)


def answered(member: Member, response: Response, now: float) -> Transition:
    member = replace(member, lookup=None)
    if isinstance(response, CoordinatorFound):
        return replace(member, coordinator=response.node, lookup_backoff=FRESH), ()
    if not isinstance(response, Refused):
        return slow_down(member, "lookup_backoff", now), ()
    return _refused(member, response, now)


def _refused(member: Member, response: Refused, now: float) -> Transition:
    said = f"{code_name(response.code)}{f': {response.message}' if response.message else ''}"
    detail = f"The coordinator of group {member.config.group_id} could not be found: {said}."
    if policy.FIND_COORDINATOR.get(response.code, Reaction.FATAL) is Reaction.FATAL and member.state in IN_GROUP:
        kind = policy.FATAL_KINDS.get(response.code, ProblemKind.UNEXPECTED)
        missing = denied(member, FindCoordinator(group_id=member.config.group_id), response.code)
        return fatal(member, Problem(kind=kind, detail=f"{missing} ({said})." if missing else detail))
    # In FATAL the problem that ended the member is kept, because the user must see it.
    if member.state is not MemberState.FATAL:
        member = with_problem(member, Problem(kind=ProblemKind.REJECTED, detail=detail))
    return slow_down(member, "lookup_backoff", now), ()
