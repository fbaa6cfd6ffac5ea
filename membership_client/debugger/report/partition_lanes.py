"""The lanes of a group's partitions: who owned each when, when nobody did, and when two did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.report.overlaps import overlaps_of
from membership_client.debugger.report.owned import Owned, owned_by
from membership_client.debugger.report.presence import Presence
from membership_client.debugger.report.scene import PartitionLane
from membership_client.debugger.report.unowned import Interval, gaps_between, wanted
from membership_client.types import TopicPartition


def partition_lanes(
    group: Group, presences: Mapping[Life, Presence], lane_of: Mapping[Life, int]
) -> list[PartitionLane]:
    """By topic and number; `lane_of` says which of the scene's members a run is."""
    owned: dict[TopicPartition, list[Owned]] = defaultdict(list)
    for life in group.lives:
        for one in owned_by(life, presences[life], lane_of[life]):
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
