"""How much an epoch may contain, how that is shared over partitions, how large records are, and the plan of an epoch."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from confluent_kafka import Consumer, Message
from confluent_kafka import TopicPartition as Place

from membership_client import ConfigError, TopicPartition
from membership_client.arguments import shown
from membership_client_spark.pipeline.held import Holding
from membership_client_spark.pipeline.ranges import OffsetRange

Key = TypeVar("Key")

_FIRST_RECORDS = 10_000
"""The size of an epoch before the size of records, or their pace, is known."""

_WEIGHT = 0.5
"""The weight of the newest epoch against all before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The limits of an epoch. `max_records` is exact; the other two are estimates from earlier epochs."""

    max_records: int | None = None
    max_bytes: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_records", "max_bytes"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and _is_bound(value)):
                raise ConfigError(
                    f"{name} must be a whole number, at least 1, or None for no bound, not {shown(value)}."
                )
        if self.max_seconds is not None and not _is_bound(self.max_seconds):
            raise ConfigError(
                f"max_seconds must be a positive number, or None for no bound, not {shown(self.max_seconds)}."
            )


def _is_bound(value: object) -> bool:
    """Positive, and neither NaN nor infinite: int() would raise for both."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**63


@dataclass(frozen=True, slots=True)
class Experience:
    """Estimates from earlier epochs and samples."""

    bytes_per_record: float | None = None
    records_per_s: float | None = None

    def sampled(self, bytes_per_record: float) -> Experience:
        """With the average size of a new sample."""
        return replace(self, bytes_per_record=_blend(self.bytes_per_record, bytes_per_record))

    def ran(self, records: int, seconds: float, bounds: Bounds) -> Experience:
        """With one more epoch. An epoch that took less than half of `max_seconds` can only raise the pace."""
        if bounds.max_seconds is None or seconds <= 0:
            return self
        rate = records / seconds
        if seconds < bounds.max_seconds / 2:
            return replace(self, records_per_s=max(rate, self.records_per_s or 0.0))
        return replace(self, records_per_s=_blend(self.records_per_s, rate))


def record_limit(bounds: Bounds, known: Experience) -> int | None:
    """The largest number of records of the next epoch, at least 1. None without any bound."""
    limits: list[float] = []
    if bounds.max_records is not None:
        limits.append(bounds.max_records)
    if bounds.max_bytes is not None:
        size = known.bytes_per_record
        limits.append(_FIRST_RECORDS if size is None else bounds.max_bytes / size)
    if bounds.max_seconds is not None:
        rate = known.records_per_s
        limits.append(_FIRST_RECORDS if rate is None else rate * bounds.max_seconds)
    return max(1, int(min(limits))) if limits else None


def allot(backlog: Mapping[Key, int], limit: int | None, turn: int) -> dict[Key, int]:
    """How many of its waiting records each partition gets into an epoch: all, or a part of `limit` in proportion.

    Each partition gets at least one. If there are more partitions than `limit`, they take turns: `turn` must grow by one
    from epoch to epoch.
    """
    waiting = {key: count for key, count in backlog.items() if count > 0}
    total = sum(waiting.values())
    if limit is None or total <= limit:
        return waiting
    if limit <= len(waiting):
        keys = list(waiting)
        return {keys[(turn * limit + step) % len(keys)]: 1 for step in range(limit)}
    spare = limit - len(waiting)
    shares = {key: 1 + (count - 1) * spare // total for key, count in waiting.items()}
    return _with_rest(shares, waiting, limit)


def _with_rest(shares: dict[Key, int], waiting: Mapping[Key, int], limit: int) -> dict[Key, int]:
    """What rounding has left over goes to the partitions with the most waiting records."""
    rest = limit - sum(shares.values())
    for key in sorted(waiting, key=lambda one: shares[one] - waiting[one]):
        extra = min(rest, waiting[key] - shares[key])
        shares[key] += extra
        rest -= extra
    return shares


def _blend(old: float | None, new: float) -> float:
    return new if old is None else (1 - _WEIGHT) * old + _WEIGHT * new


# --- the size of records ---------------------------------------------------------------------------------------------

_PLACES = 4
_RECORDS = 200
_WAIT_S = 1.0
_PATIENCE_S = 15.0
"""For the first record: the consumer may have to connect and to fetch a token."""


class SizeSampler:
    """Estimates the size of records from a few of them, with a consumer on the driver. Belongs to one thread."""

    def __init__(self, readers: Mapping[str, Any]) -> None:
        self._consumer = Consumer({**readers, "fetch.message.max.bytes": 65_536, "log_level": 0})

    def average(self, ranges: Sequence[OffsetRange]) -> float | None:
        """The average bytes of key and value of the first records of the longest ranges; None if no record came."""
        longest = sorted(ranges, key=lambda piece: piece.start - piece.end)[:_PLACES]
        self._consumer.assign([Place(piece.topic, piece.partition, piece.start) for piece in longest])
        try:
            seen = self._first(min(_RECORDS, sum(p.end - p.start for p in longest)))
        finally:
            self._consumer.unassign()
        sizes = [_size(message) for message in seen if message.error() is None]
        return max(1.0, sum(sizes) / len(sizes)) if sizes else None

    def _first(self, count: int) -> list[Message]:
        """The messages of the first call that returns any; the end of a partition is a message too."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while not (seen := self._consumer.consume(count, _WAIT_S)) and time.monotonic() < give_up_at:
            pass
        return seen

    def close(self) -> None:
        self._consumer.close()


def _size(message: Message) -> int:
    return len(message.key() or b"") + len(message.value() or b"")


# --- the plan of an epoch --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The offset ranges of an epoch and the holdings of their partitions. Reading it twice gives the same records."""

    ranges: tuple[OffsetRange, ...]
    holdings: Mapping[TopicPartition, Holding]

    def slots(self) -> int:
        """How many slots have some of the ranges."""
        return len({self.holdings[TopicPartition(piece.topic, piece.partition)].slot for piece in self.ranges})

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
