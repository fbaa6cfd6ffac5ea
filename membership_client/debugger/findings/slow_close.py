"""SLOW_CLOSE: a close that took most of its time, or did not get done."""

from __future__ import annotations

from membership_client.core.events import Budget, Close
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.calls import Call
from membership_client.debugger.model.history_step import Moment
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.stacks import stacks_between
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import lasting
from membership_client.trace.values import encode

_SHORTEST_S = 1.0
_SLOW = 0.5
"""Of the time it was given: that is when the member itself warns."""


def slow_close(group: Group) -> list[Finding]:
    return [finding for life in group.lives if (finding := _finding(life)) is not None]


def _finding(life: Life) -> Finding | None:
    began = life.closing
    if began is None or not isinstance(began.event, Close):
        return None
    ended = life.stop or life.moments[-1]
    took_s, limit_s = ended.at - began.at, began.event.timeout_s
    if took_s < max(_SHORTEST_S, _SLOW * limit_s):
        return None
    told = stacks_between(life, began.at, ended.at, encode(Budget.CLOSE))
    end = "closed" if life.stop else "the trace ends, and it is not closed"
    return Finding(
        kind=Kind.SLOW_CLOSE,
        group=life.group,
        members=(life.name,),
        partitions=tuple(sorted(began.owned_before)),
        began=began.time,
        ended=ended.time,
        sentence=f"The close of {life.name} took {lasting(took_s)} of its {lasting(limit_s)}{_why(life, began, ended)}.",
        evidence=(life.evidence(began, "close() is called"), *told, life.evidence(ended, end)),
        advice="Mend what it waited for, or give close() the time it needs; whoever is not told waits for the session.",
    )


def _why(life: Life, began: Moment, ended: Moment) -> str:
    calls = [call for call in life.calls if call.last.at > began.at and call.wanted.at <= ended.at]
    slowest = max(calls, key=lambda call: call.last.at - max(call.wanted.at, began.at), default=None)
    if slowest is not None and slowest.last.at - max(slowest.wanted.at, began.at) > (ended.at - began.at) / 2:
        return f", because its {slowest.kind.value} callback {_ran(slowest)}"
    if any(outage.first.at <= ended.at and outage.last.at >= began.at for outage in life.outages):
        return ", because the coordinator did not answer"
    return "; the trace does not tell why"


def _ran(call: Call) -> str:
    return f"took {lasting(call.lasted_s)}" if call.returned else "did not return"
