"""The command `membership-client report`: from traces to the content of a report, and into a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from membership_client.cli.terminal_text import printable
from membership_client.debugger.diagnose import findings_of
from membership_client.debugger.model.broker_log import BrokerLogError, RemovalLine, read_broker_logs
from membership_client.debugger.model.timeline import groups_of
from membership_client.debugger.model.untraced_members import has_untraced_members
from membership_client.debugger.report.content import MemberLane, PartitionLane, ReportContent
from membership_client.debugger.report.member_lanes import lanes_of, member_lane, presence_of
from membership_client.debugger.report.page import render
from membership_client.debugger.report.partition_lanes import partition_lanes
from membership_client.debugger.report.perfetto import perfetto
from membership_client.debugger.words import counted
from membership_client.trace import TraceError, read_trace
from membership_client.trace.reading import Section
from membership_client.trace.trace_file import write_for_owner

FORMATS: dict[str, Callable[[ReportContent], str]] = {"html": render, "perfetto": perfetto}


class _ReportError(Exception):
    """The report cannot be written, or would overwrite a file that it is made from."""


def report_files(
    paths: Iterable[Path], *, output: Path, form: str, skew_s: float, broker_logs: Iterable[Path] = ()
) -> int:
    """Writes the report and says where; 2 if a file cannot be read or the report not be written."""
    paths, broker_logs = list(paths), list(broker_logs)
    try:
        _check_output(output, [*paths, *broker_logs])
        # The same file twice, by a pattern that overlaps a name, is one file.
        sections = [section for path in dict.fromkeys(paths) for section in read_trace(path)]
        content = compose(sections, skew_s, read_broker_logs(broker_logs))
        # What cannot be said in UTF-8, half a character from a torn trace, is written as its number.
        _write(output, FORMATS[form](content).encode("utf-8", errors="xmlcharrefreplace"))
    except (TraceError, BrokerLogError, _ReportError) as error:
        print(error, file=sys.stderr)
        return 2
    faults = sum(finding.kind.is_fault for finding in content.findings)
    counts = {"member": content.member_count, "partition": len(content.partitions), "finding": faults}
    told = ", ".join(counted(count, thing) for thing, count in counts.items())
    print(printable(f"{output}: {told}, {counted(len(content.findings) - faults, 'rebalance')} without a fault"))
    return 0


def _check_output(output: Path, inputs: Iterable[Path]) -> None:
    """A link to an input counts as that input."""
    for path in inputs:
        if _is_same(output, path):
            raise _ReportError(
                printable(f"The report would overwrite {path}, which it is made from: give another file with -o.")
            )


def _write(output: Path, content: bytes) -> None:
    try:
        write_for_owner(output, content)
    except OSError as error:
        raise _ReportError(printable(f"{output} cannot be written: {error.strerror}.")) from error


def _is_same(output: Path, path: Path) -> bool:
    try:
        return output.samefile(path)
    except OSError:  # One of them does not exist, or cannot be looked at: what comes next says so.
        return False


def compose(sections: Sequence[Section], skew_s: float, removal_lines: Sequence[RemovalLine] = ()) -> ReportContent:
    """TraceError if a line is not what this version writes."""
    groups = groups_of(sections, skew_s, removal_lines)
    members: list[MemberLane] = []
    partitions: list[PartitionLane] = []
    for group in groups:
        lanes, presences = lanes_of(group), {run: presence_of(run, group) for run in group.runs}
        names = Counter(lane[0].name for lane in lanes)
        numbers = {run: len(members) + number for number, lane in enumerate(lanes) for run in lane}
        members += [member_lane(lane, presences, alone=names[lane[0].name] == 1) for lane in lanes]
        partitions += partition_lanes(group, presences, numbers)
    return ReportContent(
        began=min((run.began for group in groups for run in group.runs), default=0.0),
        ended=max((group.until for group in groups), default=0.0),
        members=tuple(members),
        partitions=tuple(partitions),
        findings=tuple(finding for group in groups for finding in findings_of(group)),
        untraced=any(map(has_untraced_members, groups)),
    )
