"""Where reading starts and how far an epoch goes. Pure: what brokers said is given."""

from __future__ import annotations

from collections.abc import Mapping

from membership_client import TopicPartition
from membership_client_spark.pipeline.bounds import allot
from membership_client_spark.pipeline.errors import NoOffsetError, OffsetBeyondEndError, OffsetsGoneError
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.settings import Reset


def start_of(
    place: TopicPartition, published: int | None, committed: int | None, *, low: int, high: int, reset: Reset
) -> int:
    """Where a partition goes on that was just assigned: after what the sink has and what the group has committed.

    The sink is ahead when a driver ended between publishing and committing. The group is ahead when somebody else had
    the partition meanwhile, whose records are not for this sink.
    """
    known = [offset for offset in (published, committed) if offset is not None]
    if known:
        return max(known)
    if reset == "error":
        raise NoOffsetError(f"Nothing was committed of {place}, which has offsets {low} to {high}.")
    return low if reset == "earliest" else high


def after_deletion(place: TopicPartition, position: int, *, low: int, high: int, reset: Reset) -> int:
    """Where to go on when the partition begins at `low` only; `position` if that is still there."""
    if position >= low:
        return position
    if reset == "error":
        raise OffsetsGoneError(f"{place} should go on at {position}, but begins at {low}.")
    return low if reset == "earliest" else high


def check_within(place: TopicPartition, position: int, high: int) -> None:
    """OffsetBeyondEndError if the partition ends before its position."""
    if position > high:
        raise OffsetBeyondEndError(f"{place} should go on at {position}, but ends at {high}.")


def next_ranges(
    positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], limit: int | None, turn: int
) -> tuple[OffsetRange, ...]:
    """Of at most `limit` offsets together; none of them is empty."""
    waiting = {place: ends[place] - positions[place] for place in sorted(positions) if place in ends}
    shares = allot(waiting, limit, turn)
    return tuple(
        OffsetRange(*place, positions[place], positions[place] + count) for place, count in sorted(shares.items())
    )
