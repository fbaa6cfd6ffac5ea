"""Times in which a member sent requests and got no answer, although it worked all the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from membership_client.core.error_codes import COORDINATOR_AWAY
from membership_client.core.events import (
    Answered,
    CoordinatorFound,
    Disconnect,
    Failed,
    FailureKind,
    GroupJoined,
    GroupSynced,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    MemberIdGiven,
    Refused,
)
from membership_client.debugger.model.memberships import refusal_of
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.errors import ProblemKind
from membership_client.types import Node

_ANSWERS = (HeartbeatAccepted, HeartbeatConfirmed, MemberIdGiven, GroupJoined, GroupSynced, Refused)
_SILENT = frozenset({FailureKind.UNREACHABLE, FailureKind.DISCONNECTED, FailureKind.TIMED_OUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """From the first failure to the next heartbeat, or classic join, that was answered as such."""

    failures: tuple[TraceEntry, ...]
    """Steps that record a lost connection, an answer that did not come, or a broker that is not the coordinator."""
    end: TraceEntry | None
    """None if the trace ends before it is over."""
    last: TraceEntry
    node: Node | None
    """The coordinator that was lost; None if none was known."""
    moved_to: Node | None = None
    """The new coordinator, if another broker became it."""

    @property
    def first(self) -> TraceEntry:
        return self.failures[0]

    @property
    def lasted_s(self) -> float:
        return self.last.at - self.first.at


def outages_of(steps: Sequence[TraceEntry], coordinator: Node | None) -> tuple[Outage, ...]:
    """`coordinator` is the one that was known when the trace began."""
    found: list[Outage] = []
    failures: list[TraceEntry] = []
    node = coordinator
    for step in steps:
        if failure_text(step) is not None:
            node = node if failures else coordinator
            failures.append(step)
        coordinator = coordinator_of(step) or coordinator
        if failures and failures[-1] is not step and _is_answered(step):
            found.append(_outage(failures, step, step, node, coordinator))
            failures = []
    if failures:
        found.append(_outage(failures, None, steps[-1], node, coordinator))
    return tuple(found)


def _outage(
    failures: list[TraceEntry], end: TraceEntry | None, last: TraceEntry, old: Node | None, new: Node | None
) -> Outage:
    moved_to = new if old is not None and new != old else None
    return Outage(failures=tuple(failures), end=end, last=last, node=old, moved_to=moved_to)


def failure_text(step: TraceEntry) -> str | None:
    """What failed at that step, if something did."""
    event = step.event
    if isinstance(event, Failed) and event.kind in _SILENT:
        return f"{event.kind.value}: {event.detail}"
    if is_told(step) and (said := refusal_of(step)):
        return said
    if step.effects_of(Disconnect):
        problem = step.problem
        is_new = problem is not None and problem != step.problem_before and problem.kind is ProblemKind.UNREACHABLE
        return problem.detail if problem is not None and is_new else "no answer in time"
    return None


def is_told(step: TraceEntry) -> bool:
    """Did a broker answer that it is not, or not yet, the coordinator?"""
    event = step.event
    return (
        isinstance(event, Answered) and isinstance(event.response, Refused) and event.response.code in COORDINATOR_AWAY
    )


def is_broken(step: TraceEntry) -> bool:
    """Did a connection end, or could none be made? A network that swallows everything does neither."""
    return isinstance(step.event, Failed) and step.event.kind in {FailureKind.DISCONNECTED, FailureKind.UNREACHABLE}


def _is_answered(step: TraceEntry) -> bool:
    """Was a heartbeat or a join answered? Any answer, also an error, shows that the coordinator is there."""
    return isinstance(step.event, Answered) and isinstance(step.event.response, _ANSWERS)


def coordinator_of(step: TraceEntry) -> Node | None:
    """The coordinator that was found at that step."""
    event = step.event
    if isinstance(event, Answered) and isinstance(event.response, CoordinatorFound):
        return event.response.node
    return None
