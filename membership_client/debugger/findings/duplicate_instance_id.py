"""DUPLICATE_INSTANCE_ID: two processes under one group.instance.id, at the same time or one too soon after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.fences import FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import joined
from membership_client.errors import ProblemKind
from membership_client.types import Holder

_CONFLICT_ADVICE = (
    "Give each process an id of its own (the ordinal of a StatefulSet, the slot of a worker), and stop the one that "
    "should not be there."
)
_SUCCESSION_ADVICE = (
    "Set group.instance.id.conflict to takeover, or to wait, which waits until the session of the old process has ended; "
    "or let the old process leave the group before the new one starts."
)
_CONTESTS = frozenset(
    {ProblemKind.WAITING_FOR_INSTANCE_ID, ProblemKind.INSTANCE_ID_IN_USE, ProblemKind.FENCED_INSTANCE_ID}
)


@dataclass(frozen=True, slots=True)
class _Clash:
    """A process finds its instance id in use."""

    run: MemberRun
    entry: TraceEntry
    text: str
    holder: Holder | None
    sure: bool
    """It was fenced or ended by it; otherwise the other may just have been on its way out."""
    together: bool
    """Both processes were in the group at that time. A coordinator keeps the id of a killed one, too."""


def duplicate_instance_id(group: Group) -> list[Finding]:
    found: dict[str, list[_Clash]] = {}
    for run in group.runs:
        for clash in _clashes(group, run):
            found.setdefault(run.name, []).append(clash)
    return [_finding(group, clashes) for clashes in found.values()]


def _clashes(group: Group, run: MemberRun) -> Iterable[_Clash]:
    if run.instance_id is None:
        return
    for fence in run.fences:
        if fence.why is FenceCause.SUPERSEDED:
            yield _Clash(run, fence.entry, fence.said, None, sure=True, together=True)
    for step in run.steps:
        problem = step.problem
        if problem is None or problem == step.problem_before or problem.kind not in _CONTESTS:
            continue
        fatal = problem.kind is not ProblemKind.WAITING_FOR_INSTANCE_ID
        if fatal or _lives_on(group, run, step, problem.holder):
            holder = f"; the holder is {problem.holder}" if problem.holder else ""
            together = problem.kind is not ProblemKind.INSTANCE_ID_IN_USE
            text = f"{problem.kind.value}: {problem.detail}{holder}"
            yield _Clash(run, step, text, problem.holder, sure=fatal, together=together)


def _lives_on(group: Group, run: MemberRun, step: TraceEntry, holder: Holder | None) -> bool:
    """Was the holder alive for certain when it was in the way, and did it not leave by itself afterwards?"""
    if holder is None or holder.member_id == run.member_id:
        return False
    other = next((other for other in group.runs if other.member_id == holder.member_id), None)
    return other is not None and other.closing is None and group.clearly_before(step.time, other.ended)


def _finding(group: Group, clashes: list[_Clash]) -> Finding:
    name = clashes[0].run.name
    rivals = _rivals(group, clashes)
    together = any(clash.together for clash in clashes) or _overlap(rivals)
    followed = not together and len(rivals) > 1
    return Finding(
        kind=Kind.DUPLICATE_INSTANCE_ID,
        group=group.name,
        members=(name,),
        began=min(clash.entry.time for clash in clashes),
        ended=max(clash.entry.time for clash in clashes),
        sentence=_followed(name, rivals) if followed else _shared(name, rivals, clashes, together=together),
        evidence=_evidence(group, clashes),
        advice=_SUCCESSION_ADVICE if followed else _CONFLICT_ADVICE,
        certainty="certain" if any(clash.sure for clash in clashes) else "likely",
    )


def _rivals(group: Group, clashes: list[_Clash]) -> list[MemberRun]:
    """Runs under that id whose trace covers the time of a clash, give or take the skew of the clocks."""
    ids = {clash.run.member_id for clash in clashes} | {c.holder.member_id for c in clashes if c.holder}
    times = [clash.entry.time for clash in clashes]
    found = [run for run in group.runs if run.name == clashes[0].run.name]
    return [run for run in found if run.member_id in ids or any(_covers(group, run, time) for time in times)]


def _covers(group: Group, run: MemberRun, time: float) -> bool:
    return run.began - group.skew_s <= time <= run.ended + group.skew_s


def _overlap(rivals: list[MemberRun]) -> bool:
    """`rivals` by when they began. Without the skew, which would make a prompt successor look like a companion."""
    return any(before.ended >= after.began for before, after in itertools.combinations(rivals, 2))


def _followed(name: str, rivals: list[MemberRun]) -> str:
    return (
        f"Processes used group.instance.id {name} one after the other: {', then '.join(run.where for run in rivals)}. "
        "The group still kept the id for the one before, which had not left."
    )


def _shared(name: str, rivals: list[MemberRun], clashes: list[_Clash], *, together: bool) -> str:
    processes = joined(_processes(rivals, clashes))
    if together:
        return f"More than one process used group.instance.id {name} at the same time: {processes}."
    return (
        f"More than one process used group.instance.id {name}: {processes}. Whether the other one still ran, or had ended "
        "without leaving, is in no trace."
    )


def _processes(rivals: list[MemberRun], clashes: list[_Clash]) -> list[str]:
    known = {run.member_id for run in rivals}
    strangers = {str(c.holder): None for c in clashes if c.holder and c.holder.member_id not in known}
    found = [run.where for run in rivals] + [f"{stranger}, of which there is no trace" for stranger in strangers]
    return found if len(found) > 1 else [*found, "one of which there is no trace"]


def _evidence(group: Group, clashes: list[_Clash]) -> tuple[Evidence, ...]:
    begins = [run.evidence(run.entries[0], f"a run of {run.where} begins") for run in _rivals(group, clashes)]
    first = {(clash.run.member_id, clash.text): clash for clash in reversed(clashes)}
    ordered = sorted(first.values(), key=lambda clash: clash.entry.time)
    return (*begins, *(clash.run.evidence(clash.entry, clash.text) for clash in ordered[:4]))
