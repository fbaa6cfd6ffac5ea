"""The states of a run as spans, each with the reason it began."""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.core.member import TRANSITIONS
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.report.content import StateSpan


def states_of(run: MemberRun, until: float) -> Iterator[StateSpan]:
    began, state, reason = run.began, run.entries[0].state_before, "so it was when the trace began"
    for step in run.steps:
        if step.state is state:
            continue
        if step.time > began:
            yield StateSpan(began, step.time, state, reason)
        began, state, reason = step.time, step.state, _reason(step)
    if run.stop is None or until > began:
        yield StateSpan(began, max(until, began), state, reason)


def _reason(step: TraceEntry) -> str:
    known = TRANSITIONS.get((step.state_before, step.state))
    if known is not None and (step.cause or "").startswith(known):
        known = None
    problem = step.problem.detail if step.problem is not None and step.problem is not step.problem_before else None
    return "\n".join(dict.fromkeys(filter(None, (known, step.cause, problem))))
