"""The command `membership-client diagnose`, and a diagnosis as text and as JSON."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from membership_client.cli.terminal_text import json_text, printable
from membership_client.debugger.diagnose import findings_of
from membership_client.debugger.findings.finding import Evidence, Finding, answer
from membership_client.debugger.findings.from_broker_log import logged_findings
from membership_client.debugger.model.broker_log import BrokerLogError, read_broker_logs
from membership_client.debugger.model.coordinator_log import LoggedGroup, logged_groups_of
from membership_client.debugger.model.timeline import Group, groups_of, left_open
from membership_client.debugger.model.unowned import UnownedTotal, unowned_totals_of
from membership_client.debugger.model.untraced_members import UNTRACED, has_untraced_members
from membership_client.debugger.words import clock, counted, day, lasting, listed, partitions_text
from membership_client.trace import TraceError, read_trace
from membership_client.trace.values import Json
from membership_client.types import TopicPartition


def diagnose_files(
    paths: Iterable[Path], *, skew_s: float, in_json: bool, brief: bool = False, broker_logs: Iterable[Path] = ()
) -> int:
    """Prints the diagnosis, or only its first line per group; the exit code says whether anything is wrong."""
    try:
        # The same file twice, by a pattern that overlaps a name, is one file.
        sections = [section for path in dict.fromkeys(paths) for section in read_trace(path)]
        groups = groups_of(sections, skew_s, read_broker_logs(broker_logs))
        findings = [finding for group in groups for finding in findings_of(group)]
    except (TraceError, BrokerLogError) as error:
        print(error, file=sys.stderr)
        return 2
    if in_json:
        print(json_text(as_json(groups, findings), indent=2))
    else:
        lines = answers(groups, findings) if brief else report(groups, findings)
        print("\n".join(lines).rstrip() or "The traces are empty: nothing happened.")
    return 1 if any(finding.kind.is_fault for finding in findings) else 0


def diagnose_broker_logs(paths: Iterable[Path], *, in_json: bool, brief: bool = False) -> int:
    """Prints what the brokers' logs alone tell of all groups; the exit code says whether anything is wrong."""
    try:
        groups = logged_groups_of(paths)
    except BrokerLogError as error:
        print(error, file=sys.stderr)
        return 2
    findings = {group.name: logged_findings(group) for group in groups}
    told = [finding for found in findings.values() for finding in found]
    if in_json:
        shown = [
            {
                "group": group.name,
                "skew_s": 0.0,
                "unclosed": "",
                "lives": [],
                "unowned": [],
                "members": len(group.names),
            }
            for group in groups
        ]
        print(json_text({"diagnosis": VERSION, "groups": shown, "findings": list(map(_finding, told))}, indent=2))
    else:
        lines = [line for group in groups for line in _logged(group, findings[group.name], brief=brief)]
        print("\n".join(map(printable, lines)).rstrip() or "The logs have no dated line about a member of a group.")
    return 1 if any(finding.kind.is_fault for finding in told) else 0


def _logged(group: LoggedGroup, findings: Sequence[Finding], *, brief: bool) -> Iterator[str]:
    faults = [finding for finding in findings if finding.kind.is_fault]
    first = answer(findings) if faults else "Nothing is wrong in these logs, as far as they tell."
    yield f"Group {group.name}: {first}"
    if brief:
        return
    began, ended = group.events[0].time, group.events[-1].time
    rebalances = counted(len(findings) - len(faults), "rebalance")
    yield (
        f"From the brokers' logs alone, {day(began)} {clock(began)} to {clock(ended)} as their clocks show it: "
        f"{counted(len(group.names), 'member')}, {counted(len(faults), 'finding')}, {rebalances}."
    )
    for number, finding in enumerate(faults, 1):
        yield ""
        yield from _fault(number, finding)
    yield from _rebalances(finding for finding in findings if not finding.kind.is_fault)
    yield ""


# --- as text ---------------------------------------------------------------------------------------------------------


_SHORTEST_S = 0.1
_MOST_LINES = 10


def answers(groups: Sequence[Group], findings: Sequence[Finding]) -> Iterator[str]:
    """What went wrong: one line for each group."""
    of = {group.name: f"Group {group.name}: " if len(groups) > 1 else "" for group in groups}
    told = {group.name: [answer(_of(group, findings)), *_unclosed(group)] for group in groups}
    return (printable(of[name] + " ".join(sentences)) for name, sentences in told.items())


def _unclosed(group: Group) -> list[str]:
    """A sentence about the traces that end without a close, if there are any. It is no finding: they may be of live members."""
    runs = left_open(group)
    if not runs:
        return []
    # Two processes may have used one instance id at the same time.
    names = listed(dict.fromkeys(run.name for run in runs))
    if len(runs) == 1:
        return [f"1 trace ends without a close: {names} was still running then, or was killed."]
    return [
        f"{len(runs)} traces end without a close: {names} were still running then, or were killed at about the same time."
    ]


def _of(group: Group, findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.group == group.name]


def report(groups: Sequence[Group], findings: Sequence[Finding]) -> Iterator[str]:
    """The lines of the report: for each group the answer and a summary, then its findings."""
    # A trace may hold control characters of a terminal.
    return map(printable, _lines(groups, findings))


def _lines(groups: Sequence[Group], findings: Sequence[Finding]) -> Iterator[str]:
    for group in groups:
        own = _of(group, findings)
        yield from _summary(group, own)
        for number, finding in enumerate((f for f in own if f.kind.is_fault), 1):
            yield ""
            yield from _fault(number, finding)
        yield from _rebalances(f for f in own if not f.kind.is_fault)
        yield from _text_unowned(unowned_totals_of(group))
        yield ""


def _summary(group: Group, findings: Sequence[Finding]) -> Iterator[str]:
    yield answer(findings)
    yield from _unclosed(group)
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
    finds = f"{counted(faults.total(), 'finding')}: {said}" if said else "No findings"
    yield f"{finds}; {counted(rebalances, 'rebalance')} without a fault."
    if has_untraced_members(group):
        yield UNTRACED
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


def _rebalances(findings: Iterable[Finding]) -> Iterator[str]:
    told = list(findings)
    if told:
        yield ""
        yield "Rebalances:"
    for finding in told:
        first = finding.evidence[0]
        yield f"  {clock(finding.began)}  {finding.sentence}  ({first.path}:{first.line})"


def _text_unowned(totals: Sequence[UnownedTotal]) -> Iterator[str]:
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


# --- as JSON ---------------------------------------------------------------------------------------------------------


VERSION = 1


def as_json(groups: Sequence[Group], findings: Sequence[Finding]) -> Json:
    """Times are seconds since 1970."""
    return {
        "diagnosis": VERSION,
        "groups": [_group(group) for group in groups],
        "findings": [_finding(finding) for finding in findings],
    }


def _group(group: Group) -> Json:
    runs = [
        {
            "member": run.name,
            "member_id": run.member_id,
            "instance_id": run.instance_id,
            "host": run.host,
            "pid": run.pid,
            "pod": run.pod,
            "spark": run.spark,
            "began": run.began,
            "ended": run.ended,
            "closed": run.stop is not None,
            "dropped": sum(count for _, count in run.dropped),
        }
        for run in group.runs
    ]
    unclosed = " ".join(_unclosed(group))
    return {
        "group": group.name,
        "skew_s": group.skew_s,
        "unclosed": unclosed,
        "lives": runs,
        "unowned": _json_unowned(group),
    }


def _json_unowned(group: Group) -> Json:
    return [
        {"partition": str(each.partition), "total_s": each.total_s, "longest_s": each.longest_s, "times": each.times}
        for each in unowned_totals_of(group)
    ]


def _finding(finding: Finding) -> Json:
    return {
        "kind": finding.kind.name,
        "fault": finding.kind.is_fault,
        "certainty": finding.certainty,
        "group": finding.group,
        "members": list(finding.members),
        "partitions": [str(partition) for partition in finding.partitions],
        "began": finding.began,
        "ended": finding.ended,
        "brief": finding.brief,
        "sentence": finding.sentence,
        "advice": finding.advice,
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
    }


def _evidence(evidence: Evidence) -> Json:
    return {
        "file": str(evidence.path),
        "line": evidence.line,
        "time": evidence.time,
        "member": evidence.member,
        "text": evidence.text,
    }
