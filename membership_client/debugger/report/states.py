"""The states of a run as spans, each with the reason it began."""

from __future__ import annotations

from collections.abc import Iterator

from membership_client.core.member import TRANSITIONS
from membership_client.debugger.model.history_step import Moment
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.report.scene import StateSpan


def states_of(life: Life, until: float) -> Iterator[StateSpan]:
    began, state, reason = life.began, life.moments[0].state_before, "so it was when the trace began"
    for step in life.steps:
        if step.state is state:
            continue
        if step.time > began:
            yield StateSpan(began, step.time, state, reason)
        began, state, reason = step.time, step.state, _reason(step)
    if life.stop is None or until > began:
        yield StateSpan(began, max(until, began), state, reason)


def _reason(step: Moment) -> str:
    known = TRANSITIONS.get((step.state_before, step.state))
    problem = step.problem.detail if step.problem is not None and step.problem is not step.problem_before else None
    return "\n".join(dict.fromkeys(filter(None, (known, step.cause, problem))))
