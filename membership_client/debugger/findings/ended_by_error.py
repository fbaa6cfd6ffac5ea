"""ENDED_BY_ERROR: a member that is FATAL for a reason of which no other finding speaks."""

from __future__ import annotations

from membership_client.debugger.findings.finding import Finding, Kind
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.errors import Identity, ProblemKind, error_for
from membership_client.types import MemberState

_SPOKEN_OF = frozenset(
    {
        ProblemKind.FENCED_INSTANCE_ID,
        ProblemKind.INSTANCE_ID_IN_USE,
        ProblemKind.GROUP_FULL,
        ProblemKind.GROUP_DENIED,
        ProblemKind.CALLBACK_FAILED,
    }
)


def ended_by_error(group: Group) -> list[Finding]:
    return [_finding(run, step) for run in group.runs for step in run.steps if _is_end(step)]


def _is_end(step: TraceEntry) -> bool:
    ends = step.state is MemberState.FATAL and step.state_before is not MemberState.FATAL
    return ends and step.problem is not None and step.problem.kind not in _SPOKEN_OF


def _finding(run: MemberRun, step: TraceEntry) -> Finding:
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
        sentence=f"{run.name} ended by an error that repeating cannot mend ({problem.kind.value}): {problem.detail}",
        evidence=(run.evidence(step, f"{type(error).__name__}: {problem.detail}"),),
        advice=error.advice,
    )
