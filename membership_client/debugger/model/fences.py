"""The times a member was thrown out of its group, each with the one thing that explains it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.core.error_codes import Code
from membership_client.core.events import Answered, CallbackKind, Refused
from membership_client.debugger.model.broker_log import Dismissal, How
from membership_client.debugger.model.calls import Call
from membership_client.debugger.model.gaps import Gap
from membership_client.debugger.model.heartbeats import Beat
from membership_client.debugger.model.history_step import Moment
from membership_client.debugger.model.memberships import refusal_of
from membership_client.debugger.model.outages import Outage
from membership_client.debugger.model.removals import Told
from membership_client.types import MemberState

_SLACK_S = 1.0
_REMOVALS = frozenset({Code.UNKNOWN_MEMBER_ID, Code.GROUP_ID_NOT_FOUND})
_PATIENCE = 0.9
"""The coordinator began to wait for a callback a little before the member did."""


class Why(enum.Enum):
    SUPERSEDED = "another process has its instance id"
    STILL = "the member did nothing for too long"
    CUT_OFF = "nobody answered it for too long"
    CALLBACK = "its callback took longer than the group waits"
    OUTSIDE = "somebody else removed it"
    UNKNOWN = "the trace does not tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    moment: Moment
    said: str
    why: Why
    confirmed: Moment | None
    """When the coordinator last counted on it before: it accepted a heartbeat, or gave it a new epoch."""
    gap: Gap | None = None
    outage: Outage | None = None
    call: Call | None = None
    line: Dismissal | None = None
    """What the coordinator wrote into its log about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What may explain a fence."""

    beats: Sequence[Beat]
    gaps: Sequence[Gap]
    outages: Sequence[Outage]
    calls: Sequence[Call]
    patience_s: float
    """How long the group waits for a callback."""
    interval_s: float
    is_classic: bool
    told: Told


def fences_of(steps: Sequence[Moment], around: Surroundings) -> tuple[Fence, ...]:
    found: list[Fence] = []
    let_in = float("-inf")
    raised: Moment | None = None
    for step in steps:
        if _is_fence(step):
            found.append(_fence(step, let_in, raised, around))
        if step.epoch_before == 0 < step.epoch:
            let_in = step.at
        if step.epoch > step.epoch_before:
            raised = step
    return tuple(found)


def _fence(step: Moment, let_in: float, raised: Moment | None, around: Surroundings) -> Fence:
    beat = _last_confirmed(around.beats, step)
    since = max(let_in, beat.sent.at if beat else let_in)
    gap = next((gap for gap in around.gaps if gap.after.at > since and gap.before.at <= step.at), None)
    outage = next((o for o in around.outages if o.last.at > since and o.first.at <= step.at), None)
    call = next((call for call in around.calls if _outlasts(call, step, around)), None)
    interval_s = (beat and beat.interval_s) or around.interval_s
    confirmed = max((m for m in (beat and beat.ended, raised) if m), key=lambda m: m.at, default=None)
    # An answer may have lain unread while the process stood still: of a heartbeat counts when it was sent.
    late = step.at - max(since, raised.at if raised else since) > 2 * interval_s + _SLACK_S
    line = around.told.between(confirmed.at if confirmed else float("-inf"), step)
    return Fence(
        moment=step,
        said=refusal_of(step) or step.cause or "",
        why=_why(step, gap, outage, call, line, late=late),
        confirmed=confirmed,
        gap=gap,
        outage=outage,
        call=call,
        line=line,
    )


def _is_fence(step: Moment) -> bool:
    """In a classic group a member finds out by itself that its session is over, or that the group went on without it."""
    thrown_out = step.epoch_before > 0 and step.epoch == 0
    return thrown_out and (_code(step) is not None or step.state is MemberState.FENCED)


def _code(step: Moment) -> int | None:
    event = step.event
    return event.response.code if isinstance(event, Answered) and isinstance(event.response, Refused) else None


def _last_confirmed(beats: Sequence[Beat], step: Moment) -> Beat | None:
    before = (beat for beat in reversed(beats) if beat.is_confirmed and beat.ended and beat.ended.at <= step.at)
    return next(before, None)


def _outlasts(call: Call, step: Moment, around: Surroundings) -> bool:
    """In a classic group an assigned callback is waited for too, and the fence may come with the join after it."""
    until = min(step.at, call.last.at)
    runs = call.wanted.at <= step.at and (around.is_classic or step.at <= call.last.at)
    waited_for = call.kind is CallbackKind.REVOKED or (around.is_classic and call.kind is CallbackKind.ASSIGNED)
    return runs and waited_for and until - call.wanted.at >= _PATIENCE * around.patience_s


def _why(
    step: Moment, gap: Gap | None, outage: Outage | None, call: Call | None, line: Dismissal | None, *, late: bool
) -> Why:
    code = _code(step)
    if code == Code.FENCED_INSTANCE_ID:
        return Why.SUPERSEDED
    if line is not None and line.how is How.REMOVED:
        return Why.OUTSIDE
    if gap is not None and not gap.awaited and (outage is None or gap.lasted_s >= outage.lasted_s):
        return Why.STILL
    if outage is not None:
        return Why.CUT_OFF
    return Why.CALLBACK if call is not None else _unproved(code, gap, line, late=late)


def _unproved(code: int | None, gap: Gap | None, line: Dismissal | None, *, late: bool) -> Why:
    if late:
        return Why.STILL if gap is not None else Why.UNKNOWN
    return Why.OUTSIDE if code in _REMOVALS and line is None else Why.UNKNOWN
