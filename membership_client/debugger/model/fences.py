"""The fences of one run: each time that the coordinator dropped the member, and the one thing that explains it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.core.error_codes import Code
from membership_client.core.events import Answered, CallbackKind, Refused
from membership_client.debugger.model.broker_log import BrokerLogLines, RemovalKind, RemovalLine
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.heartbeats import SentHeartbeat
from membership_client.debugger.model.memberships import refusal_of
from membership_client.debugger.model.silences import Outage, Silence
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.types import MemberState

_SLACK_S = 1.0
_REMOVALS = frozenset({Code.UNKNOWN_MEMBER_ID, Code.GROUP_ID_NOT_FOUND})
_PATIENCE = 0.9
"""The coordinator began to wait for a callback, or for a heartbeat, a little before the member did."""
_SHORTEST_SESSION = 3
"""Heartbeat intervals in the shortest session that is sensible. Members of KIP-848 are not told theirs."""


class FenceCause(enum.Enum):
    SUPERSEDED = "another process has its instance id"
    STILL = "the member did nothing for too long"
    CUT_OFF = "no broker answered it for too long"
    CALLBACK = "its callback took longer than the group waits"
    OUTSIDE = "another client removed it"
    UNKNOWN = "the trace does not tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    entry: TraceEntry
    said: str
    why: FenceCause
    confirmed: TraceEntry | None
    """When the coordinator last confirmed it before: it accepted a heartbeat, or gave it a new epoch."""
    silence: Silence | None = None
    outage: Outage | None = None
    call: CallbackRecord | None = None
    line: RemovalLine | None = None
    """What the coordinator wrote into its log about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceContext:
    """What may explain a fence."""

    heartbeats: Sequence[SentHeartbeat]
    silences: Sequence[Silence]
    outages: Sequence[Outage]
    calls: Sequence[CallbackRecord]
    patience_s: float
    """How long the group waits for a callback."""
    interval_s: float
    session_s: float | None
    """None under KIP-848, where only the coordinator knows it."""
    is_classic: bool
    told: BrokerLogLines


def fences_of(steps: Sequence[TraceEntry], around: FenceContext) -> tuple[Fence, ...]:
    found: list[Fence] = []
    let_in = float("-inf")
    raised: TraceEntry | None = None
    for step in steps:
        if _is_fence(step):
            found.append(_fence(step, let_in, raised, around))
        if step.epoch_before == 0 < step.epoch:
            let_in = step.at
        if step.epoch > step.epoch_before:
            raised = step
    return tuple(found)


def _fence(step: TraceEntry, let_in: float, raised: TraceEntry | None, around: FenceContext) -> Fence:
    heartbeat = _last_confirmed(around.heartbeats, step)
    since = max(let_in, heartbeat.sent.at if heartbeat else let_in)
    silence = next((s for s in around.silences if s.after.at > since and s.before.at <= step.at), None)
    outage = next((o for o in around.outages if o.last.at > since and o.first.at <= step.at), None)
    call = next((call for call in around.calls if _outlasts(call, step, around)), None)
    interval_s = (heartbeat and heartbeat.interval_s) or around.interval_s
    if (
        silence is not None
        and silence.awaited
        and silence.after is step
        and not _may_outlast_session(silence, step.at - since, interval_s, around.session_s)
    ):
        silence = None
    confirmed = max((m for m in (heartbeat and heartbeat.ended, raised) if m), key=lambda m: m.at, default=None)
    # An answer may have lain unread while the process stood still: of a heartbeat counts when it was sent.
    late = step.at - max(since, raised.at if raised else since) > 2 * interval_s + _SLACK_S
    line = around.told.between(confirmed.at if confirmed else float("-inf"), step)
    return Fence(
        entry=step,
        said=refusal_of(step) or step.cause or "",
        why=_why(step, silence, outage, call, line, late=late),
        confirmed=confirmed,
        silence=silence,
        outage=outage,
        call=call,
        line=line,
    )


def _may_outlast_session(silence: Silence, unconfirmed_s: float, interval_s: float, session_s: float | None) -> bool:
    """Can the session have ended while the answer that refused the heartbeat was awaited?

    If not, the coordinator had dropped the member before the heartbeat came, and only its answer was late.
    """
    if session_s is not None:
        return unconfirmed_s >= _PATIENCE * session_s
    return silence.lasted_s >= _PATIENCE * _SHORTEST_SESSION * interval_s


def _is_fence(step: TraceEntry) -> bool:
    """A member of a classic group also notices by itself that its session has ended, or that the group went on without it."""
    is_out = step.epoch_before > 0 and step.epoch == 0
    return is_out and (_code(step) is not None or step.state is MemberState.FENCED)


def _code(step: TraceEntry) -> int | None:
    event = step.event
    return event.response.code if isinstance(event, Answered) and isinstance(event.response, Refused) else None


def _last_confirmed(heartbeats: Sequence[SentHeartbeat], step: TraceEntry) -> SentHeartbeat | None:
    before = (
        heartbeat
        for heartbeat in reversed(heartbeats)
        if heartbeat.is_confirmed and heartbeat.ended and heartbeat.ended.at <= step.at
    )
    return next(before, None)


def _outlasts(call: CallbackRecord, step: TraceEntry, around: FenceContext) -> bool:
    """In a classic group an assigned callback is waited for too, and the fence may come with the join after it."""
    until = min(step.at, call.last.at)
    is_running = call.wanted.at <= step.at and (around.is_classic or step.at <= call.last.at)
    waited_for = call.kind is CallbackKind.REVOKED or (around.is_classic and call.kind is CallbackKind.ASSIGNED)
    return is_running and waited_for and until - call.wanted.at >= _PATIENCE * around.patience_s


def _why(
    step: TraceEntry,
    silence: Silence | None,
    outage: Outage | None,
    call: CallbackRecord | None,
    line: RemovalLine | None,
    *,
    late: bool,
) -> FenceCause:
    code = _code(step)
    if code == Code.FENCED_INSTANCE_ID:
        return FenceCause.SUPERSEDED
    if line is not None and line.how is RemovalKind.REMOVED:
        return FenceCause.OUTSIDE
    if silence is not None and not silence.awaited and (outage is None or silence.lasted_s >= outage.lasted_s):
        return FenceCause.STILL
    if outage is not None:
        return FenceCause.CUT_OFF
    return FenceCause.CALLBACK if call is not None else _unproved(code, silence, line, late=late)


def _unproved(code: int | None, silence: Silence | None, line: RemovalLine | None, *, late: bool) -> FenceCause:
    if late:
        return FenceCause.STILL if silence is not None else FenceCause.UNKNOWN
    return FenceCause.OUTSIDE if code in _REMOVALS and line is None else FenceCause.UNKNOWN
