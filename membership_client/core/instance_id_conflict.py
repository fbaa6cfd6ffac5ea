"""An instance id that is taken: find the member that holds it, then wait for the id, take it over, or fail.

Under KIP-848 the old holder wins until it leaves or its session ends (under KIP-345 the newcomer did). The holder may be
this member itself: after a join whose answer was lost, Kafka up to 4.4 refuses the next join as if another member had
sent it. In that case the member releases its own id, whatever the policy.
"""

from __future__ import annotations

from membership_client.core import policy
from membership_client.core.consumer_protocol import release
from membership_client.core.error_codes import Code, code_name
from membership_client.core.events import (
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    GroupDescribed,
    Refused,
    Response,
    SessionTimeoutDescribed,
)
from membership_client.core.fencing import fatal, fence
from membership_client.core.member import IdConflict, IdConflictStep, Member, Transition, with_problem
from membership_client.core.policy import Reaction
from membership_client.core.requests import forget_coordinator, send, slow_down
from membership_client.core.rule import Rule
from membership_client.errors import Problem, ProblemKind
from membership_client.types import GroupProtocol, Holder, MemberState
from membership_client.values import replace

S = MemberState

LONGEST_DEFAULT_SESSION_S = 60.0
"""The longest session that brokers allow by default; used where the broker does not tell."""
SESSION_MARGIN = 1.1
"""Brokers expire sessions a little late."""


def refused(member: Member, message: str | None, now: float) -> Transition:
    """A join was refused because the instance id is held."""
    detail = message or f"group.instance.id {member.config.group_instance_id} is held by another member."
    if member.id_conflict is None:
        return _waiting(replace(member, id_conflict=_open(member, detail, now))), ()
    id_conflict = replace(member.id_conflict, detail=detail)
    asks = _is_over(id_conflict, now) or _needs_identity(member, id_conflict)
    step = IdConflictStep.IDENTIFY if asks else _last_step(id_conflict)
    return slow_down(
        _waiting(replace(member, id_conflict=replace(id_conflict, step=step))), "dialogue_backoff", now
    ), ()


def _open(member: Member, detail: str, now: float) -> IdConflict:
    waits = member.config.group_instance_id_conflict == "wait"
    give_up_at = None if waits else now + LONGEST_DEFAULT_SESSION_S * SESSION_MARGIN
    return IdConflict(step=IdConflictStep.IDENTIFY, since=now, give_up_at=give_up_at, detail=detail)


def _is_over(id_conflict: IdConflict, now: float) -> bool:
    """Is the time to wait over? The holder is looked up once more then: it may be this member, by a join whose answer was lost."""
    return id_conflict.give_up_at is not None and now >= id_conflict.give_up_at


def _needs_identity(member: Member, id_conflict: IdConflict) -> bool:
    """Must the holder be looked up again? Not while the member waits for a known holder other than itself."""
    waits = member.config.group_instance_id_conflict == "wait"
    return not waits or id_conflict.holder is None or id_conflict.holder.member_id == member.member_id


def _last_step(id_conflict: IdConflict) -> IdConflictStep:
    """Join again; but a wait must first know how long it may last."""
    return IdConflictStep.MEASURE if id_conflict.give_up_at is None else IdConflictStep.RETRY


def superseded(member: Member, message: str | None, now: float) -> Transition:
    """Another process has our instance id now. Our partitions are lost at once; the coordinator is asked which process it is."""
    detail = message or f"group.instance.id {member.config.group_instance_id} was taken over."
    epoch = member.epoch
    member, effects = fence(member, detail, now, known=False)
    if member.state is not S.FENCED:
        return member, effects
    id_conflict = IdConflict(
        step=IdConflictStep.IDENTIFY,
        since=now,
        give_up_at=now + member.request_timeout_s,
        detail=detail,
        epoch=epoch,
    )
    return replace(member, id_conflict=id_conflict), effects


def _waiting(member: Member) -> Member:
    return with_problem(member, _problem(member, ProblemKind.WAITING_FOR_INSTANCE_ID))


# --- asking ----------------------------------------------------------------------------------------------------------


def _ask_due(member: Member) -> float | None:
    id_conflict = member.id_conflict
    if id_conflict is None or id_conflict.step is IdConflictStep.RETRY or member.dialogue or member.coordinator is None:
        return None
    return member.dialogue_backoff.not_before


_DESCRIBE_REQUESTS: dict[GroupProtocol, type[DescribeGroup | DescribeClassicGroup]] = {
    GroupProtocol.CONSUMER: DescribeGroup,
    GroupProtocol.CLASSIC: DescribeClassicGroup,
}


def _ask(member: Member, now: float) -> Transition:
    id_conflict, group_id = member.id_conflict, member.config.group_id
    assert id_conflict is not None
    if id_conflict.step is IdConflictStep.IDENTIFY:
        question = _DESCRIBE_REQUESTS[member.protocol](group_id=group_id)
        return send(member, "dialogue", question, now, to=member.coordinator)
    if id_conflict.step is IdConflictStep.MEASURE:
        return send(member, "dialogue", DescribeSessionTimeout(group_id=group_id), now, to=member.coordinator)
    assert id_conflict.holder is not None
    return send(member, "dialogue", release(member, id_conflict.holder.member_id), now, to=member.coordinator)


ASK = Rule(_ask_due, _ask)


def answered(member: Member, response: Response, now: float) -> Transition:
    """The answer to a request about the holder, whichever that was."""
    id_conflict = member.id_conflict
    member = replace(member, dialogue=None)
    if id_conflict is None:
        return member, ()
    if isinstance(response, Refused) and response.code in policy.DESCRIBE:
        return _ask_again(member, policy.DESCRIBE[response.code], now), ()
    if id_conflict.step is IdConflictStep.IDENTIFY:
        return _identified(member, id_conflict, response, now)
    if id_conflict.step is IdConflictStep.MEASURE:
        return _measured(member, id_conflict, response), ()
    return _released(member, id_conflict, response, now), ()


def _ask_again(member: Member, action: Reaction, now: float) -> Member:
    if action is Reaction.REDISCOVER:
        member = forget_coordinator(member)
    return slow_down(member, "dialogue_backoff", now)


def unanswerable(member: Member, now: float) -> Transition:
    """The broker cannot answer the question at all: go on without the answer."""
    return answered(member, Refused(Code.UNSUPPORTED_VERSION), now)


def _identified(member: Member, id_conflict: IdConflict, response: Response, now: float) -> Transition:
    holder = _holder_in(response, member.config.group_instance_id)
    id_conflict = replace(id_conflict, holder=holder)
    if member.state is S.FENCED:
        return _lose_to(replace(member, id_conflict=id_conflict))
    if holder is not None and holder.member_id == member.member_id:
        return _waiting(replace(member, id_conflict=replace(id_conflict, step=IdConflictStep.RELEASE))), ()
    known = isinstance(response, GroupDescribed)
    if holder is not None and member.fences:
        # This member had the id, was fenced, and another has it now: that one wins, or the two would fence each other for ever.
        return _lose_to(replace(member, id_conflict=id_conflict))
    if _is_over(id_conflict, now) and (holder is not None or not known):
        return _fail(replace(member, id_conflict=id_conflict))
    return _by_policy(replace(member, id_conflict=id_conflict), id_conflict, known=known)


def _by_policy(member: Member, id_conflict: IdConflict, *, known: bool) -> Transition:
    conflict = member.config.group_instance_id_conflict
    if conflict == "fail" and (id_conflict.holder is not None or not known):
        return _fail(member)
    takes_over = conflict == "takeover" and id_conflict.holder is not None
    step = IdConflictStep.RELEASE if takes_over else _last_step(id_conflict)
    return _waiting(replace(member, id_conflict=replace(id_conflict, step=step))), ()


def _holder_in(response: Response, instance_id: str | None) -> Holder | None:
    members = response.members if isinstance(response, GroupDescribed) else ()
    found = (m for m in members if m.instance_id == instance_id)
    return next((Holder(m.member_id, m.client_id, m.host) for m in found), None)


def _measured(member: Member, id_conflict: IdConflict, response: Response) -> Member:
    told = response.session_timeout_s if isinstance(response, SessionTimeoutDescribed) else None
    session_s = told if told and told > 0 else LONGEST_DEFAULT_SESSION_S
    give_up_at = id_conflict.since + session_s * SESSION_MARGIN + member.interval_s
    return replace(member, id_conflict=replace(id_conflict, step=IdConflictStep.RETRY, give_up_at=give_up_at))


def _released(member: Member, id_conflict: IdConflict, response: Response, now: float) -> Member:
    if not isinstance(response, Refused):
        return replace(member, id_conflict=replace(id_conflict, step=IdConflictStep.RETRY))
    detail = f"{id_conflict.detail} (its release was refused: {code_name(response.code)})"
    member = replace(member, id_conflict=replace(id_conflict, detail=detail, step=_last_step(id_conflict)))
    return slow_down(member, "dialogue_backoff", now)


# --- the end of a conflict -------------------------------------------------------------------------------------------


def _give_up_due(member: Member) -> float | None:
    """A member that waits to join gives up when a join is refused after `give_up_at`, and not when that time comes.

    A coordinator that could not be reached, or a process that was stopped, says nothing about the holder.
    """
    return member.id_conflict.give_up_at if member.id_conflict and member.state is S.FENCED else None


def _give_up(member: Member, now: float) -> Transition:
    return _lose_to(member)


GIVE_UP = Rule(_give_up_due, _give_up)


def _fail(member: Member) -> Transition:
    return fatal(_displaced(member), _problem(member, ProblemKind.INSTANCE_ID_IN_USE))


def _lose_to(member: Member) -> Transition:
    return fatal(_displaced(member), _problem(member, ProblemKind.FENCED_INSTANCE_ID))


def _displaced(member: Member) -> Member:
    """Where another member holds the instance id, the coordinator does not count us any more."""
    has_holder = member.id_conflict is not None and member.id_conflict.holder is not None
    return replace(member, enrolled=False) if has_holder else member


def _problem(member: Member, kind: ProblemKind) -> Problem:
    id_conflict = member.id_conflict
    assert id_conflict is not None
    return Problem(kind=kind, detail=id_conflict.detail, epoch=id_conflict.epoch, holder=id_conflict.holder)
