"""CALLBACK_FAILED, COMMIT_REFUSED, GROUP_FULL, ACCESS_DENIED and ENDED_BY_ERROR: an error that the trace itself names."""

from __future__ import annotations

from collections import defaultdict

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import counted, second
from membership_client.errors import Identity, NotOwnedError, ProblemKind, error_for
from membership_client.types import MemberState

# --- CALLBACK_FAILED -------------------------------------------------------------------------------------------------


_CONSEQUENCE = {
    "raise": "a failed assign is tried again, and the partitions are not consumed meanwhile",
    "leave": "the member leaves the group",
    "continue": "the member goes on as if nothing had happened",
}


def callback_failed(group: Group) -> list[Finding]:
    return [finding for run in group.runs for finding in _of(run)]


def _of(run: MemberRun) -> list[Finding]:
    """One finding per callback and error, for all attempts together."""
    failed: dict[tuple[str, str], list[CallbackRecord]] = defaultdict(list)
    for call in run.calls:
        if call.error is not None:
            failed[call.kind.value, call.error].append(call)
    return [_callback_finding(run, calls) for calls in failed.values()]


def _callback_finding(run: MemberRun, calls: list[CallbackRecord]) -> Finding:
    first, last = calls[0], calls[-1]
    raised = f"raised{f' {len(calls)} times:' if len(calls) > 1 else ''} {first.error}"
    policy = run.start.config.callback_errors
    return Finding(
        kind=Kind.CALLBACK_FAILED,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted({partition for call in calls for partition in call.partitions})),
        began=first.last.time,
        ended=last.last.time,
        brief=f"the {first.kind.value} callback of {run.name} {raised}",
        sentence=f"The {first.kind.value} callback of {run.name} {raised}.",
        evidence=tuple(run.evidence(call.last, f"the {call.kind.value} callback raised") for call in calls[:3]),
        advice=f"Mend the callback. callback_errors is {policy}: {_CONSEQUENCE[policy]}.",
    )


# --- COMMIT_REFUSED --------------------------------------------------------------------------------------------------


_TOGETHER_S = 30.0
_SHOWN = 3


def commit_refused(group: Group) -> list[Finding]:
    return [_commit_finding(run, notes) for run in group.runs for notes in _commit_episodes(run)]


def _commit_episodes(run: MemberRun) -> list[list[TraceEntry]]:
    found: list[list[TraceEntry]] = []
    for note in run.notes:
        if note.note != "commit refused" or note.facts.get("error") != NotOwnedError.__name__:
            continue
        if found and note.at - found[-1][-1].at < _TOGETHER_S:
            found[-1].append(note)
        else:
            found.append([note])
    return found


def _commit_finding(run: MemberRun, notes: list[TraceEntry]) -> Finding:
    times = f"{len(notes)} commits of {run.name} were" if len(notes) > 1 else f"a commit of {run.name} was"
    detail = str(notes[0].facts.get("detail", ""))
    loss = next((step for step in reversed(run.steps) if step.at <= notes[0].at and _loses(step)), None)
    lost = [run.evidence(loss, f"it owns {counted(len(loss.owned), 'partition')} from here on")] if loss else []
    refused = [run.evidence(note, f"commit refused: {note.facts.get('detail', '')}") for note in notes[:_SHOWN]]
    return Finding(
        kind=Kind.COMMIT_REFUSED,
        group=run.group,
        members=(run.name,),
        began=notes[0].time,
        ended=notes[-1].time,
        brief=f"{times} refused at {second(notes[0].time)}",
        sentence=f"{times[0].upper()}{times[1:]} refused, because the partition was no longer its own: {detail}",
        evidence=(*lost, *refused),
        advice="Drop that work: the new owner repeats it. Commit in on_revoke, which is the last moment to do so.",
    )


def _loses(step: TraceEntry) -> bool:
    return bool(step.owned_before - step.owned)


# --- ENDED_BY_ERROR --------------------------------------------------------------------------------------------------


_OTHER_FINDINGS = frozenset(
    {
        ProblemKind.FENCED_INSTANCE_ID,
        ProblemKind.INSTANCE_ID_IN_USE,
        ProblemKind.GROUP_FULL,
        ProblemKind.GROUP_DENIED,
        ProblemKind.CALLBACK_FAILED,
    }
)


def ended_by_error(group: Group) -> list[Finding]:
    return [_end_finding(run, step) for run in group.runs for step in run.steps if _is_end(step)]


def _is_end(step: TraceEntry) -> bool:
    ends = step.state is MemberState.FATAL and step.state_before is not MemberState.FATAL
    return ends and step.problem is not None and step.problem.kind not in _OTHER_FINDINGS


def _end_finding(run: MemberRun, step: TraceEntry) -> Finding:
    problem = step.problem
    assert problem is not None
    error = error_for(problem, Identity(run.group, run.member_id, run.instance_id, step.epoch_before))
    return Finding(
        kind=Kind.ENDED_BY_ERROR,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(step.owned_before)),
        began=step.time,
        ended=step.time,
        brief=f"{run.name} ended by an error at {second(step.time)}: {problem.kind.value}",
        sentence=f"{run.name} ended by an error that repeating cannot mend ({problem.kind.value}): {problem.detail}",
        evidence=(run.evidence(step, f"{type(error).__name__}: {problem.detail}"),),
        advice=error.advice,
    )


# --- GROUP_FULL and ACCESS_DENIED ------------------------------------------------------------------------------------


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


def not_admitted(group: Group) -> list[Finding]:
    return [
        _not_admitted_finding(run, kind, steps)
        for run in group.runs
        for kind, steps in _not_admitted_episodes(run).items()
    ]


def _not_admitted_episodes(run: MemberRun) -> dict[ProblemKind, list[TraceEntry]]:
    """The steps at which each problem began, by its kind."""
    found: dict[ProblemKind, list[TraceEntry]] = {}
    for step in run.steps:
        problem = step.problem
        if problem is not None and problem != step.problem_before and problem.kind in _KINDS:
            found.setdefault(problem.kind, []).append(step)
    return found


def _not_admitted_finding(run: MemberRun, kind: ProblemKind, steps: list[TraceEntry]) -> Finding:
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
        brief=_brief(run, kind, first),
        sentence=_sentence(run, kind, last, times=len(steps)),
        evidence=(*(run.evidence(step, _detail(step)) for step in shown), *healed),
        advice=_ADVICE[kind],
    )


def _brief(run: MemberRun, kind: ProblemKind, first: TraceEntry) -> str:
    if _KINDS[kind] is Kind.GROUP_FULL:
        return f"{run.name} was not let in at {second(first.time)}, because the group was full"
    return f"{run.name} had no access to {_resource(run, kind)} at {second(first.time)}"


def _resource(run: MemberRun, kind: ProblemKind) -> str:
    return f"group {run.group}" if kind is ProblemKind.GROUP_DENIED else f"a topic of its subscription in {run.group}"


def _is_over(step: TraceEntry, kind: ProblemKind) -> bool:
    return step.problem is None or step.problem.kind is not kind


def _detail(step: TraceEntry) -> str:
    return step.problem.detail if step.problem else ""


def _sentence(run: MemberRun, kind: ProblemKind, step: TraceEntry, *, times: int) -> str:
    said = f"({times} times: {_detail(step)})" if times > 1 else f"({_detail(step)})"
    if _KINDS[kind] is Kind.GROUP_FULL:
        waits = "waited for room" if kind is ProblemKind.WAITING_FOR_ROOM else "ended"
        return f"Group {run.group} was full: {run.name} was not let in, and {waits} {said}."
    return f"{run.name} has no access to {_resource(run, kind)} {said}."
