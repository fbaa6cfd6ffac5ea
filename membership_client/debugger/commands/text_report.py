"""A diagnosis as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from membership_client.cli.terminal_text import harmless
from membership_client.debugger.findings.finding import Finding
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.unowned import UnownedTotal, unowned_totals_of
from membership_client.debugger.words import clock, counted, day, lasting, partitions_text
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
        yield from _unowned(unowned_totals_of(group))
        yield ""


def _summary(group: Group, findings: Sequence[Finding]) -> Iterator[str]:
    began, ended = min(run.began for run in group.runs), max(run.ended for run in group.runs)
    names = {run.name for run in group.runs}
    run_count = len(group.runs)
    yield (
        f"Group {group.name}: {len(names)} member{'s' * (len(names) > 1)} in {run_count} run{'s' * (run_count > 1)}, "
        f"{day(began)} {clock(began)} to {clock(ended)} UTC, clocks within {group.skew_s:g} s."
    )
    faults = Counter(finding.kind.name for finding in findings if finding.kind.is_fault)
    rebalances = sum(not finding.kind.is_fault for finding in findings)
    said = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in faults.items())
    yield f"{said or 'Nothing is wrong'}; {rebalances} rebalance{'s' * (rebalances != 1)}."
    for run in group.runs:
        for place, count in run.dropped:
            steps, verb = counted(count, "step"), "is" if count == 1 else "are"
            yield f"{steps} of {run.name} {verb} missing before {place}: its trace could not be written in time."


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


def _unowned(totals: Sequence[UnownedTotal]) -> Iterator[str]:
    """A line for all partitions with the same total; totals under a tenth of a second are left out."""
    found: dict[str, list[TopicPartition]] = {}
    for total in totals:
        if total.total_s >= _SHORTEST_S:
            found.setdefault(lasting(total.total_s), []).append(total.partition)
    lines = [f"  {how_long}  {partitions_text(which)}" for how_long, which in found.items()]
    if lines:
        yield from ["", "Without an owner, all times together:", *lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        yield f"  and others for less than {list(found)[_MOST_LINES - 1]}"
