"""Starting user callbacks, and what their return means. `owned` changes here and nowhere else."""

from __future__ import annotations

from membership_client.core import reasons
from membership_client.core.backoff import ASAP, FRESH
from membership_client.core.events import CallbackKind, CallbackReturned, Effect, RunCallback, TellLost
from membership_client.core.exception_summary import raised_by
from membership_client.core.leaving import depart, without_callback
from membership_client.core.member import OUT_OF_GROUP, Member, RunningCall, Transition, with_problem
from membership_client.core.requests import slow_down
from membership_client.core.rule import Rule
from membership_client.errors import Problem, ProblemKind
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import Cause, CauseKind, CloseStep, LeaveMode, MemberState
from membership_client.values import replace

S = MemberState


def run(member: Member, kind: CallbackKind, partitions: Partitions, now: float, deadline: float | None) -> Transition:
    """Start a callback. Only one runs at a time."""
    call_id = member.ids + 1
    call = RunningCall(call_id=call_id, kind=kind, partitions=partitions, began_at=now)
    effect = RunCallback(
        call_id=call_id,
        kind=kind,
        partitions=tuple(sorted(partitions.named(member.names))),
        epoch=member.epoch,
        cause=member.cause or Cause(CauseKind.JOINED, "joined the group"),
        deadline=deadline,
        provisional=member.owed_gap_s is not None,
    )
    return replace(member, ids=call_id, call=call), (effect,)


def tell_lost(member: Member) -> tuple[Effect, ...]:
    """For rules that take the member out of the group: a callback that still runs learns that its partitions are gone."""
    return (TellLost(member.call.call_id),) if member.call else ()


def returned(member: Member, event: CallbackReturned, now: float) -> Transition:
    call = member.call
    if call is None or call.call_id != event.call_id:
        return member, ()
    member = _note_step(replace(member, call=None), call, event, now)
    failed = event.error is not None
    if call.kind is not CallbackKind.ASSIGNED:
        member = replace(member, owned=member.owned.without(call.partitions))
    elif not failed or member.config.callback_errors == "continue":
        member = replace(member, owned=member.owned | call.partitions, greeted=True, call_backoff=FRESH)
    else:
        member = _released(slow_down(member, "call_backoff", now, cap_s=member.interval_s), call.partitions)
    return (_failed(member, call.kind, event.error, now) if event.error is not None else _healed(member)), ()


def _released(member: Member, partitions: Partitions) -> Member:
    """Partitions that left the target during a failed assigned callback are released with a full heartbeat."""
    wanted = member.target.partitions if member.target else NOTHING
    return replace(member, accepted=None) if partitions - wanted else member


def _note_step(member: Member, call: RunningCall, event: CallbackReturned, now: float) -> Member:
    """Add the callback to the steps that the report of a close lists."""
    if member.departure is None:
        return member
    outcome = "returned" if event.error is None else "raised"
    step = CloseStep(f"{call.kind.value} callback", now - call.began_at, outcome)
    departure = without_callback(member.departure, call.began_at, now)
    clean = departure.clean and event.error is None
    return replace(member, departure=replace(departure, steps=(*departure.steps, step), clean=clean))


def _failed(member: Member, kind: CallbackKind, error: str, now: float) -> Member:
    # The event has the whole text, for the log and for poll(). The problem is written to traces, which quote no record.
    detail = f"The {kind.value} callback raised {raised_by(error).kind}."
    problem = Problem(kind=ProblemKind.CALLBACK_FAILED, detail=detail)
    if member.state is S.FATAL:
        # Keep the problem that ended the member: the user must see it, and it decides whether a new start is allowed.
        return member
    member = with_problem(member, problem)
    leaves = member.config.callback_errors == "leave" and kind is not CallbackKind.LOST
    if leaves and member.state is S.RECONCILING:
        cause = Cause(CauseKind.CALLBACK_FAILED, problem.detail)
        reason = f"{reasons.CALLBACK_FAILED}: {kind.value}"
        return depart(member, LeaveMode.DEFAULT, reason, cause, now, ending=S.FATAL, problem=member.problem)
    return member


def _healed(member: Member) -> Member:
    over = member.problem is not None and member.problem.kind is ProblemKind.CALLBACK_FAILED
    return replace(member, problem=None) if over and member.state is not S.FATAL else member


def _lose_due(member: Member) -> float | None:
    if not member.owned or member.call is not None:
        return None
    return ASAP if member.state in OUT_OF_GROUP else None


def _lose(member: Member, now: float) -> Transition:
    return run(member, CallbackKind.LOST, member.owned, now, None)


LOSE = Rule(_lose_due, _lose)
