"""DUPLICATE_INSTANCE_ID, REMOVED_FROM_OUTSIDE and THROWN_OUT: another process or the coordinator ended a membership."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from membership_client.debugger.findings.finding import Certainty, Evidence, Finding, Kind
from membership_client.debugger.model.broker_log import RemovalKind, RemovalLine
from membership_client.debugger.model.fences import Fence, FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import joined, lasting, second
from membership_client.errors import ProblemKind
from membership_client.types import Holder

# --- DUPLICATE_INSTANCE_ID -------------------------------------------------------------------------------------------


_CONFLICT_ADVICE = (
    "Give each process an id of its own (the ordinal of a StatefulSet, the slot of a worker), and stop the one that "
    "should not be there."
)
_SUCCESSION_ADVICE = (
    "Set group.instance.id.conflict to takeover, or to wait, which waits until the session of the old process has ended; "
    "or let the old process leave the group before the new one starts."
)
_CONFLICTS = frozenset(
    {ProblemKind.WAITING_FOR_INSTANCE_ID, ProblemKind.INSTANCE_ID_IN_USE, ProblemKind.FENCED_INSTANCE_ID}
)


@dataclass(frozen=True, slots=True)
class _Conflict:
    """A process finds its instance id in use."""

    run: MemberRun
    entry: TraceEntry
    text: str
    holder: Holder | None
    sure: bool
    """The conflict fenced or ended this process. If not, the other process may have been about to leave."""
    together: bool
    """Both processes were in the group at that time. (A coordinator keeps the id of a killed process until its session ends.)"""


def duplicate_instance_id(group: Group) -> list[Finding]:
    found: dict[str, list[_Conflict]] = {}
    for run in group.runs:
        for conflict in _conflicts_of(group, run):
            found.setdefault(run.name, []).append(conflict)
    return [_duplicate_finding(group, conflicts) for conflicts in found.values()]


def _conflicts_of(group: Group, run: MemberRun) -> Iterable[_Conflict]:
    if run.instance_id is None:
        return
    for fence in run.fences:
        if fence.why is FenceCause.SUPERSEDED:
            yield _Conflict(run, fence.entry, fence.said, None, sure=True, together=True)
    for step in run.steps:
        problem = step.problem
        if problem is None or problem == step.problem_before or problem.kind not in _CONFLICTS:
            continue
        fatal = problem.kind is not ProblemKind.WAITING_FOR_INSTANCE_ID
        if fatal or _lives_on(group, run, step, problem.holder):
            holder = f"; the holder is {problem.holder}" if problem.holder else ""
            together = problem.kind is not ProblemKind.INSTANCE_ID_IN_USE
            text = f"{problem.kind.value}: {problem.detail}{holder}"
            yield _Conflict(run, step, text, problem.holder, sure=fatal, together=together)


def _lives_on(group: Group, run: MemberRun, step: TraceEntry, holder: Holder | None) -> bool:
    """Did the holder of the id certainly run at that step, and not leave by itself afterwards?"""
    if holder is None or holder.member_id in run.ids:
        return False
    other = next((other for other in group.runs if holder.member_id in other.ids), None)
    return other is not None and other.closing is None and group.clearly_before(step.time, other.ended)


def _duplicate_finding(group: Group, conflicts: list[_Conflict]) -> Finding:
    name = conflicts[0].run.name
    runs = _conflicting_runs(group, conflicts)
    known = [run for run in runs if any(_overlap(run, other) for other in runs if other is not run)]
    untraced = any(conflict.together for conflict in conflicts) and not known
    together, followed = bool(known) or untraced, not known and not untraced and len(runs) > 1
    return Finding(
        kind=Kind.DUPLICATE_INSTANCE_ID,
        group=group.name,
        members=(name,),
        began=min(conflict.entry.time for conflict in conflicts),
        ended=max(conflict.entry.time for conflict in conflicts),
        brief=f"group.instance.id {name} was used by more than one process{' at the same time' if together else ''}",
        sentence=_followed(name, runs) if followed else _shared(name, known or runs, conflicts, together=together),
        evidence=_duplicate_evidence(group, conflicts),
        advice=_SUCCESSION_ADVICE if followed else _CONFLICT_ADVICE,
        certainty="certain" if any(conflict.sure for conflict in conflicts) else "likely",
    )


def _conflicting_runs(group: Group, conflicts: list[_Conflict]) -> list[MemberRun]:
    """Runs under that id whose trace covers the time of a conflict, give or take the skew of the clocks."""
    ids = {conflict.run.member_id for conflict in conflicts} | {c.holder.member_id for c in conflicts if c.holder}
    times = [conflict.entry.time for conflict in conflicts]
    found = [run for run in group.runs if run.name == conflicts[0].run.name]
    return [run for run in found if run.ids & ids or any(_covers(group, run, time) for time in times)]


def _covers(group: Group, run: MemberRun, time: float) -> bool:
    return run.began - group.skew_s <= time <= run.ended + group.skew_s


def _overlap(one: MemberRun, other: MemberRun) -> bool:
    """Did both run at the same time?

    The skew of the clocks is left out: with it, a successor that started at once would count as running at the same time.
    """
    return one.began <= other.ended and other.began <= one.ended


def _followed(name: str, runs: list[MemberRun]) -> str:
    return (
        f"Processes used group.instance.id {name} one after the other: {', then '.join(run.where for run in runs)}. "
        "The group still kept the id for the earlier process, which had not left."
    )


def _shared(name: str, runs: list[MemberRun], conflicts: list[_Conflict], *, together: bool) -> str:
    processes = joined(_processes(runs, conflicts))
    if together:
        return f"More than one process used group.instance.id {name} at the same time: {processes}."
    return (
        f"More than one process used group.instance.id {name}: {processes}. Whether the other one still ran, or had ended "
        "without leaving, is in no trace."
    )


def _processes(runs: list[MemberRun], conflicts: list[_Conflict]) -> list[str]:
    known = frozenset[str]().union(*(run.ids for run in runs))
    untraced = {str(c.holder): None for c in conflicts if c.holder and c.holder.member_id not in known}
    found = [run.where for run in runs] + [f"{holder}, of which there is no trace" for holder in untraced]
    return found if len(found) > 1 else [*found, "one of which there is no trace"]


def _duplicate_evidence(group: Group, conflicts: list[_Conflict]) -> tuple[Evidence, ...]:
    begins = [
        run.evidence(run.entries[0], f"a run of {run.where} begins") for run in _conflicting_runs(group, conflicts)
    ]
    first = {(conflict.run.member_id, conflict.text): conflict for conflict in reversed(conflicts)}
    ordered = sorted(first.values(), key=lambda conflict: conflict.entry.time)
    return (*begins, *(conflict.run.evidence(conflict.entry, conflict.text) for conflict in ordered[:4]))


# --- REMOVED_FROM_OUTSIDE and THROWN_OUT -----------------------------------------------------------------------------


def thrown_out(group: Group) -> list[Finding]:
    return [_fence_finding(run, fence) for run in group.runs for fence in run.fences if fence.why in _UNEXPLAINED]


_UNEXPLAINED = frozenset({FenceCause.OUTSIDE, FenceCause.UNKNOWN})


def _fence_finding(run: MemberRun, fence: Fence) -> Finding:
    line = fence.line
    return Finding(
        kind=Kind.REMOVED_FROM_OUTSIDE if fence.why is FenceCause.OUTSIDE else Kind.THROWN_OUT,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(fence.entry.owned_before)),
        began=fence.entry.time,
        ended=fence.entry.time,
        brief=f"{run.name} was {'removed' if fence.why is FenceCause.OUTSIDE and line else 'fenced'} at {second(fence.entry.time)}",
        sentence=_guess(run, fence) if line is None else _told(run, line),
        evidence=tuple(_fence_evidence(run, fence, line)),
        advice=_advice(line),
        certainty=_certainty(fence, line),
    )


def _told(run: MemberRun, line: RemovalLine) -> str:
    if line.how is RemovalKind.REMOVED:
        return (
            f"{run.name} was removed by another client, with a LeaveGroup request; the reason given is: {line.reason}"
        )
    return (
        f"{run.name} was fenced by the coordinator, because {line.reason}. Its trace does not show the cause of that."
    )


def _guess(run: MemberRun, fence: Fence) -> str:
    if fence.why is FenceCause.UNKNOWN or fence.confirmed is None:
        return (
            f"{run.name} was fenced ({fence.said}). Its trace shows no standstill, outage or callback that explains it, "
            "so what made the coordinator do so is unknown."
        )
    ago = lasting(fence.entry.at - fence.confirmed.at)
    return (
        f"{run.name} was fenced although it was on time: the coordinator had confirmed it {ago} before. "
        "Another client removed it, or the coordinator lost it: which of them is unknown to the client."
    )


def _fence_evidence(run: MemberRun, fence: Fence, line: RemovalLine | None) -> Iterator[Evidence]:
    if fence.confirmed is not None:
        yield run.evidence(fence.confirmed, "the coordinator confirms it")
    if line is not None:
        # Beside the member's lines; the broker's clock is another, so its own date stays in the text.
        yield Evidence(line.path, line.line, fence.entry.time, run.name, f"the coordinator wrote: {line.text}")
    yield run.evidence(fence.entry, fence.said)


def _advice(line: RemovalLine | None) -> str:
    if line is None:
        return "The reason is in the log of the coordinator only: give its server.log of that time with --broker-log."
    if line.how is RemovalKind.REMOVED:
        return "Find the client that removes members of this group. The member joins again by itself."
    return "Look at what the machine and the network of the member did just before; a longer session tolerates more."


def _certainty(fence: Fence, line: RemovalLine | None) -> Certainty:
    if line is not None:
        return "likely" if line.time is None else "certain"
    return "likely" if fence.why is FenceCause.OUTSIDE else "unknown"
