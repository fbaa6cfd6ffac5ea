"""SLOW_CLOSE: a close that took most of its time, or did not get done."""

from __future__ import annotations

from membership_client.core.events import Budget, Close
from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.stacks import stacks_between
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import lasting
from membership_client.trace.values import encode

_SHORTEST_S = 1.0
_SLOW = 0.5
"""Share of the time limit from which a close counts as slow; the member itself warns at the same share."""


def slow_close(group: Group) -> list[Finding]:
    return [finding for run in group.runs if (finding := _finding(run)) is not None]


def _finding(run: MemberRun) -> Finding | None:
    began = run.closing
    if began is None or not isinstance(began.event, Close):
        return None
    ended = run.stop or run.entries[-1]
    sentence = _sentence(run, began.event, began, ended)
    if sentence is None:
        return None
    told = stacks_between(run, began.at, ended.at, encode(Budget.CLOSE))
    end = "closed" if run.stop else "the trace ends, and it is not closed"
    return Finding(
        kind=Kind.SLOW_CLOSE,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(began.owned_before)),
        began=began.time,
        ended=ended.time,
        sentence=sentence,
        evidence=(run.evidence(began, "close() is called"), *told, run.evidence(ended, end)),
        advice=(
            "Mend what close() waited for, or give it a longer timeout. A member that cannot say that it leaves keeps its "
            "partitions until its session ends."
        ),
    )


def _sentence(run: MemberRun, close: Close, began: TraceEntry, ended: TraceEntry) -> str | None:
    """None if the close was quick."""
    took_s = ended.at - began.at
    calls = [call for call in run.calls if call.last.at > began.at and call.wanted.at <= ended.at]
    spent = sorted(((_spent_s(call, began), call) for call in calls), key=lambda each: each[0])
    if close.callback_timeout_s is not None:
        return _with_callbacks_apart(run, close, began, ended, spent)
    if not _is_slow(took_s, close.timeout_s):
        return None
    blamed = spent[-1][1] if spent and spent[-1][0] > took_s / 2 else None
    because = f", because its {blamed.kind.value} callback {_ran(blamed)}" if blamed else _cause(run, began, ended)
    return f"The close of {run.name} took {lasting(took_s)} of its {lasting(close.timeout_s)}{because}."


def _with_callbacks_apart(
    run: MemberRun, close: Close, began: TraceEntry, ended: TraceEntry, spent: list[tuple[float, CallbackRecord]]
) -> str | None:
    """Of a close whose callbacks have a limit of their own and do not count against its timeout."""
    own_s = ended.at - began.at - sum(seconds for seconds, _ in spent)
    if _is_slow(own_s, close.timeout_s):
        of = f"{lasting(own_s)} of its {lasting(close.timeout_s)}"
        return f"The close of {run.name} took {of}, callbacks not counted{_cause(run, began, ended)}."
    limit_s = max(close.timeout_s, close.callback_timeout_s or 0.0)
    if not spent or not _is_slow(spent[-1][0], limit_s):
        return None
    seconds, slowest = spent[-1]
    waited = f"{lasting(seconds)} of at most {lasting(limit_s)}"
    return f"The close of {run.name} waited {waited} for its {slowest.kind.value} callback, which {_ran(slowest)}."


def _is_slow(took_s: float, limit_s: float) -> bool:
    return took_s >= max(_SHORTEST_S, _SLOW * limit_s)


def _spent_s(call: CallbackRecord, began: TraceEntry) -> float:
    """How long the close waited for it: it may have begun before."""
    return call.last.at - max(call.wanted.at, began.at)


def _cause(run: MemberRun, began: TraceEntry, ended: TraceEntry) -> str:
    if any(outage.first.at <= ended.at and outage.last.at >= began.at for outage in run.outages):
        return ", because the coordinator did not answer"
    return "; the trace does not tell why"


def _ran(call: CallbackRecord) -> str:
    return f"took {lasting(call.lasted_s)}" if call.returned else "did not return"
