"""An epoch before it is read: its ranges, and the slots that hold them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from membership_client import TopicPartition
from membership_client_spark.pipeline.bounds import allot
from membership_client_spark.pipeline.held import Holding
from membership_client_spark.pipeline.ranges import OffsetRange


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The offset ranges of an epoch and the holdings of their partitions. Reading it twice gives the same records."""

    ranges: tuple[OffsetRange, ...]
    holdings: Mapping[TopicPartition, Holding]

    def tasks(self) -> list[list[OffsetRange]]:
        """The ranges of each slot that has some."""
        by_slot: dict[int, list[OffsetRange]] = defaultdict(list)
        for piece in self.ranges:
            by_slot[self.holdings[TopicPartition(piece.topic, piece.partition)].slot].append(piece)
        return [by_slot[slot] for slot in sorted(by_slot)]

    def ends(self) -> dict[TopicPartition, int]:
        return {TopicPartition(piece.topic, piece.partition): piece.end for piece in self.ranges}

    def only(self, places: Container[TopicPartition]) -> EpochPlan:
        """Without the ranges of other partitions."""
        ranges = tuple(one for one in self.ranges if TopicPartition(one.topic, one.partition) in places)
        return EpochPlan(ranges, {place: holding for place, holding in self.holdings.items() if place in places})


NOTHING = EpochPlan((), MappingProxyType({}))


def plan_of(ranges: tuple[OffsetRange, ...], holdings: Mapping[TopicPartition, Holding]) -> EpochPlan:
    """A plan with the holdings of its own partitions only: others may be revoked while it is read."""
    places = [TopicPartition(piece.topic, piece.partition) for piece in ranges]
    return EpochPlan(ranges, {place: holdings[place] for place in places})


def next_ranges(
    positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], limit: int | None, turn: int
) -> tuple[OffsetRange, ...]:
    """The ranges of the next epoch, with at most `limit` offsets together; none is empty."""
    waiting = {place: ends[place] - positions[place] for place in sorted(positions) if place in ends}
    shares = allot(waiting, limit, turn)
    return tuple(
        OffsetRange(*place, positions[place], positions[place] + count) for place, count in sorted(shares.items())
    )
