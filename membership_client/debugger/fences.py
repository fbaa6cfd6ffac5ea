"""The times a member was thrown out of its group, each with the one thing that explains it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.core.error_codes import Code
from membership_client.core.events import Answered, CallbackKind, Refused
from membership_client.debugger.beats import Beat
from membership_client.debugger.calls import Call
from membership_client.debugger.gaps import Gap
from membership_client.debugger.moment import Moment
from membership_client.debugger.outages import Outage
from membership_client.debugger.stays import refusal_of

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
    code: int
    said: str
    why: Why
    confirmed: Moment | None
    """When the coordinator last accepted a heartbeat before."""
    gap: Gap | None = None
    outage: Outage | None = None
    call: Call | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What may explain a fence."""

    beats: Sequence[Beat]
    gaps: Sequence[Gap]
    outages: Sequence[Outage]
    calls: Sequence[Call]
    patience_s: float
    """How long the group waits for a callback."""


def fences_of(steps: Sequence[Moment], around: Surroundings) -> tuple[Fence, ...]:
    return tuple(_fence(step, code, around) for step in steps if (code := _fence_code(step)) is not None)


def _fence(step: Moment, code: int, around: Surroundings) -> Fence:
    confirmed = _confirmed(around.beats, step)
    since = confirmed.sent.at if confirmed else float("-inf")
    gap = next((gap for gap in around.gaps if gap.after.at > since and gap.before.at <= step.at), None)
    outage = next((o for o in around.outages if o.last.at > since and o.first.at <= step.at), None)
    call = next((call for call in around.calls if _outlasts(call, step, around.patience_s)), None)
    late = confirmed is None or step.at - since > 2 * confirmed.interval_s + _SLACK_S
    return Fence(
        moment=step,
        code=code,
        said=refusal_of(step) or "",
        why=_why(code, gap, outage, call, late=late),
        confirmed=confirmed.ended if confirmed else None,
        gap=gap,
        outage=outage,
        call=call,
    )


def _fence_code(step: Moment) -> int | None:
    event = step.event
    thrown_out = step.epoch_before > 0 and step.epoch == 0
    if not thrown_out or not isinstance(event, Answered) or not isinstance(event.response, Refused):
        return None
    return event.response.code


def _confirmed(beats: Sequence[Beat], step: Moment) -> Beat | None:
    before = (beat for beat in reversed(beats) if beat.accepted and beat.ended and beat.ended.at <= step.at)
    return next(before, None)


def _outlasts(call: Call, step: Moment, patience_s: float) -> bool:
    runs = call.wanted.at <= step.at <= call.last.at
    return runs and call.kind is CallbackKind.REVOKED and step.at - call.wanted.at >= _PATIENCE * patience_s


def _why(code: int, gap: Gap | None, outage: Outage | None, call: Call | None, *, late: bool) -> Why:
    if code == Code.FENCED_INSTANCE_ID:
        return Why.SUPERSEDED
    if gap is not None and (outage is None or gap.lasted_s >= outage.lasted_s):
        return Why.STILL
    if outage is not None:
        return Why.CUT_OFF
    if call is not None:
        return Why.CALLBACK
    return Why.OUTSIDE if code in _REMOVALS and not late else Why.UNKNOWN
