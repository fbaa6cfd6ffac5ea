"""GROUP_FULL and ACCESS_DENIED: members that the group did not let in, or brokers did not let read."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.errors import ProblemKind

_KINDS = {
    ProblemKind.GROUP_FULL: Kind.GROUP_FULL,
    ProblemKind.WAITING_FOR_ROOM: Kind.GROUP_FULL,
    ProblemKind.GROUP_DENIED: Kind.ACCESS_DENIED,
    ProblemKind.TOPIC_DENIED: Kind.ACCESS_DENIED,
}
_ADVICE = {
    ProblemKind.GROUP_FULL: "Raise group.consumer.max.size (classic groups: group.max.size) on the brokers, run fewer members, "
    "or set retry_when_full_s.",
    ProblemKind.WAITING_FOR_ROOM: "Raise group.consumer.max.size (classic groups: group.max.size) on the brokers, or run "
    "fewer members.",
    ProblemKind.GROUP_DENIED: "Grant READ on the group to this client's user, then restart it or subscribe again.",
    ProblemKind.TOPIC_DENIED: "Grant DESCRIBE and READ on the topics to this client's user; the member recovers by itself.",
}


def turned_away(group: Group) -> list[Finding]:
    return [_finding(run, kind, steps) for run in group.runs for kind, steps in _episodes(run).items()]


def _episodes(run: MemberRun) -> dict[ProblemKind, list[TraceEntry]]:
    """By the problem, each time that it was met."""
    found: dict[ProblemKind, list[TraceEntry]] = {}
    for step in run.steps:
        problem = step.problem
        if problem is not None and problem != step.problem_before and problem.kind in _KINDS:
            found.setdefault(problem.kind, []).append(step)
    return found


def _finding(run: MemberRun, kind: ProblemKind, steps: list[TraceEntry]) -> Finding:
    first, last = steps[0], steps[-1]
    over = next((step for step in run.steps if step.at > last.at and _is_over(step, kind)), None)
    shown = [first] if first is last else [first, last]
    healed = [run.evidence(over, "over")] if over else []
    return Finding(
        kind=_KINDS[kind],
        group=run.group,
        members=(run.name,),
        began=first.time,
        ended=over.time if over else run.ended,
        sentence=_sentence(run, kind, last, times=len(steps)),
        evidence=(*(run.evidence(step, _detail(step)) for step in shown), *healed),
        advice=_ADVICE[kind],
    )


def _is_over(step: TraceEntry, kind: ProblemKind) -> bool:
    return step.problem is None or step.problem.kind is not kind


def _detail(step: TraceEntry) -> str:
    return step.problem.detail if step.problem else ""


def _sentence(run: MemberRun, kind: ProblemKind, step: TraceEntry, *, times: int) -> str:
    said = f"({times} times: {_detail(step)})" if times > 1 else f"({_detail(step)})"
    if _KINDS[kind] is Kind.GROUP_FULL:
        waits = "waited for room" if kind is ProblemKind.WAITING_FOR_ROOM else "ended"
        return f"Group {run.group} was full: {run.name} was not let in, and {waits} {said}."
    resource = (
        f"group {run.group}" if kind is ProblemKind.GROUP_DENIED else f"a topic of its subscription in {run.group}"
    )
    return f"{run.name} has no access to {resource} {said}."
