"""DUPLICATE_INSTANCE_ID: two processes that live at the same time under one group.instance.id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.fences import Why
from membership_client.debugger.model.history_step import Moment
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import joined
from membership_client.errors import ProblemKind
from membership_client.types import Holder

_CONTESTS = frozenset(
    {ProblemKind.WAITING_FOR_INSTANCE_ID, ProblemKind.INSTANCE_ID_IN_USE, ProblemKind.FENCED_INSTANCE_ID}
)


@dataclass(frozen=True, slots=True)
class _Clash:
    """One process meets another."""

    life: Life
    moment: Moment
    text: str
    holder: Holder | None
    sure: bool
    """It was thrown out or ended by it; otherwise the other may just have been on its way out."""


def duplicate_instance_id(group: Group) -> list[Finding]:
    found: dict[str, list[_Clash]] = {}
    for life in group.lives:
        for clash in _clashes(group, life):
            found.setdefault(life.name, []).append(clash)
    return [_finding(group, clashes) for clashes in found.values()]


def _clashes(group: Group, life: Life) -> Iterable[_Clash]:
    if life.instance_id is None:
        return
    for fence in life.fences:
        if fence.why is Why.SUPERSEDED:
            yield _Clash(life, fence.moment, fence.said, None, sure=True)
    for step in life.steps:
        problem = step.problem
        if problem is None or problem == step.problem_before or problem.kind not in _CONTESTS:
            continue
        fatal = problem.kind is not ProblemKind.WAITING_FOR_INSTANCE_ID
        if fatal or _lives_on(group, life, step, problem.holder):
            holder = f"; the holder is {problem.holder}" if problem.holder else ""
            yield _Clash(life, step, f"{problem.kind.value}: {problem.detail}{holder}", problem.holder, sure=fatal)


def _lives_on(group: Group, life: Life, step: Moment, holder: Holder | None) -> bool:
    """Was the holder alive for certain when it was in the way, and did it not leave by itself afterwards?"""
    if holder is None or holder.member_id == life.member_id:
        return False
    other = next((other for other in group.lives if other.member_id == holder.member_id), None)
    return other is not None and other.closing is None and group.clearly_before(step.time, other.ended)


def _finding(group: Group, clashes: list[_Clash]) -> Finding:
    name = clashes[0].life.name
    processes = _processes(group, clashes)
    return Finding(
        kind=Kind.DUPLICATE_INSTANCE_ID,
        group=group.name,
        members=(name,),
        began=min(clash.moment.time for clash in clashes),
        ended=max(clash.moment.time for clash in clashes),
        sentence=f"More than one process used group.instance.id {name} at the same time: {joined(processes)}.",
        evidence=_evidence(group, clashes),
        advice=(
            "Give each process an id of its own (the ordinal of a StatefulSet, the slot of a worker), and stop the one "
            "that should not be there."
        ),
        certainty="certain" if any(clash.sure for clash in clashes) else "likely",
    )


def _rivals(group: Group, clashes: list[_Clash]) -> list[Life]:
    """Everybody under that id whose trace covers the time of a clash, give or take the clocks."""
    ids = {clash.life.member_id for clash in clashes} | {c.holder.member_id for c in clashes if c.holder}
    times = [clash.moment.time for clash in clashes]
    found = [life for life in group.lives if life.name == clashes[0].life.name]
    return [life for life in found if life.member_id in ids or any(_covers(group, life, time) for time in times)]


def _covers(group: Group, life: Life, time: float) -> bool:
    return life.began - group.skew_s <= time <= life.ended + group.skew_s


def _processes(group: Group, clashes: list[_Clash]) -> list[str]:
    rivals = _rivals(group, clashes)
    known = {life.member_id for life in rivals}
    strangers = {str(c.holder): None for c in clashes if c.holder and c.holder.member_id not in known}
    found = [life.where for life in rivals] + [f"{stranger}, of which there is no trace" for stranger in strangers]
    return found if len(found) > 1 else [*found, "one of which there is no trace"]


def _evidence(group: Group, clashes: list[_Clash]) -> tuple[Evidence, ...]:
    runs = [life.evidence(life.moments[0], f"a run of {life.where} begins") for life in _rivals(group, clashes)]
    first = {(clash.life.member_id, clash.text): clash for clash in reversed(clashes)}
    ordered = sorted(first.values(), key=lambda clash: clash.moment.time)
    return (*runs, *(clash.life.evidence(clash.moment, clash.text) for clash in ordered[:4]))
