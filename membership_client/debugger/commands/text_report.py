"""A diagnosis as text, for somebody who was woken by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from membership_client.debugger.findings.finding import Finding
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.unowned_totals import Vacancy, vacancies_of
from membership_client.debugger.words import clock, counted, day, lasting, partitions_text
from membership_client.terminal_text import harmless
from membership_client.types import TopicPartition

_SHORTEST_S = 0.1
_MOST_LINES = 10


def report(groups: Sequence[Group], findings: Sequence[Finding]) -> Iterator[str]:
    """Lines: of each group first a summary of two, then its findings."""
    # Traces come from anywhere.
    return map(harmless, _lines(groups, findings))


def _lines(groups: Sequence[Group], findings: Sequence[Finding]) -> Iterator[str]:
    for group in groups:
        own = [finding for finding in findings if finding.group == group.name]
        yield from _summary(group, own)
        for number, finding in enumerate((f for f in own if f.kind.is_fault), 1):
            yield ""
            yield from _fault(number, finding)
        yield from _told(f for f in own if not f.kind.is_fault)
        yield from _unowned(vacancies_of(group))
        yield ""


def _summary(group: Group, findings: Sequence[Finding]) -> Iterator[str]:
    began, ended = min(life.began for life in group.lives), max(life.ended for life in group.lives)
    names = {life.name for life in group.lives}
    runs = len(group.lives)
    yield (
        f"Group {group.name}: {len(names)} member{'s' * (len(names) > 1)} in {runs} run{'s' * (runs > 1)}, "
        f"{day(began)} {clock(began)} to {clock(ended)} UTC, clocks within {group.skew_s:g} s."
    )
    faults = Counter(finding.kind.name for finding in findings if finding.kind.is_fault)
    rebalances = sum(not finding.kind.is_fault for finding in findings)
    said = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in faults.items())
    yield f"{said or 'Nothing is wrong'}; {rebalances} rebalance{'s' * (rebalances != 1)}."
    for life in group.lives:
        for place, count in life.dropped:
            steps, verb = counted(count, "step"), "is" if count == 1 else "are"
            yield f"{steps} of {life.name} {verb} missing before {place}: its trace could not be written in time."


def _fault(number: int, finding: Finding) -> Iterator[str]:
    sure = "" if finding.certainty == "certain" else f" ({finding.certainty})"
    yield f"{number}. {finding.kind.name}{sure} at {clock(finding.began)}"
    yield f"   {finding.sentence}"
    yield "   Evidence:"
    yield from (f"     {evidence}" for evidence in finding.evidence)
    yield f"   Do: {finding.advice}"


def _told(findings: Iterable[Finding]) -> Iterator[str]:
    told = list(findings)
    if told:
        yield ""
        yield "Rebalances:"
    for finding in told:
        first = finding.evidence[0]
        yield f"  {clock(finding.began)}  {finding.sentence}  ({first.path}:{first.line})"


def _unowned(vacancies: Sequence[Vacancy]) -> Iterator[str]:
    """Those that were without one for equally long on one line; what lasted less than can be told is left out."""
    found: dict[str, list[TopicPartition]] = {}
    for vacancy in vacancies:
        if vacancy.total_s >= _SHORTEST_S:
            found.setdefault(lasting(vacancy.total_s), []).append(vacancy.partition)
    lines = [f"  {how_long}  {partitions_text(which)}" for how_long, which in found.items()]
    if lines:
        yield from ["", "Without an owner, all times together:", *lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        yield f"  and others for less than {list(found)[_MOST_LINES - 1]}"
