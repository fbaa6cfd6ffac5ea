"""From traces to the content of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from membership_client.debugger.diagnose import findings_of
from membership_client.debugger.model.broker_log import RemovalLine
from membership_client.debugger.model.timeline import groups_of
from membership_client.debugger.report.content import MemberLane, PartitionLane, ReportContent
from membership_client.debugger.report.member_lanes import lanes_of, member_lane
from membership_client.debugger.report.partition_lanes import partition_lanes
from membership_client.debugger.report.presence import presence_of
from membership_client.trace.reading import Section


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
    )
