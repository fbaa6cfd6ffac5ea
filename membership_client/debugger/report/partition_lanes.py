"""The lanes of a group's partitions: when each had which owner, none, or two."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence

from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.report.content import Overlap, PartitionLane
from membership_client.debugger.report.owned import Owned, owned_by
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.unowned import Interval, gaps_between, wanted
from membership_client.types import TopicPartition


def partition_lanes(
    group: Group, presences: Mapping[MemberRun, Presence], lane_of: Mapping[MemberRun, int]
) -> list[PartitionLane]:
    """By topic and number; `lane_of` says which of the report's members a run is."""
    owned: dict[TopicPartition, list[Owned]] = defaultdict(list)
    for run in group.runs:
        for one in owned_by(run, presences[run], lane_of[run]):
            owned[one.partition].append(one)
    times = {topic: wanted(topic, presences) for topic in {partition.topic for partition in owned}}
    return [_lane(group, partition, owned[partition], times[partition.topic]) for partition in sorted(owned)]


def _lane(group: Group, partition: TopicPartition, owned: list[Owned], times: list[Interval]) -> PartitionLane:
    owned.sort(key=lambda one: (one.span.began, one.span.ended, one.span.owner))
    return PartitionLane(
        group=group.name,
        partition=partition,
        owned=tuple(one.span for one in owned),
        gaps=tuple(gaps_between(owned, group.until, times)),
        overlaps=tuple(overlaps_of(owned, group.skew_s)),
    )


_SAME_CLOCK_S = 0.01
"""How exactly two processes of one machine know the time of day: each reads both of its clocks one after the other."""


def overlaps_of(owned: Sequence[Owned], skew_s: float) -> Iterator[Overlap]:
    """`owned` by when each began."""
    waiting, there = deque(owned), list[Owned]()
    edges = sorted({edge for one in owned for edge in (one.span.began, one.span.ended)})
    for began, ended in itertools.pairwise(edges):
        while waiting and waiting[0].span.began <= began:
            there.append(waiting.popleft())
        there = [one for one in there if one.span.ended > began]
        if len(there) > 1:
            yield Overlap(began, ended, tuple(one.span.owner for one in there), _is_sure(there, ended - began, skew_s))


def _is_sure(owners: Sequence[Owned], lasted_s: float, skew_s: float) -> bool:
    hosts = {one.run.host for one in owners}
    return lasted_s > (skew_s if len(hosts) > 1 else _SAME_CLOCK_S)
