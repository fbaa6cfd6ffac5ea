"""Targets of an offset reset, and the change that a target means for each partition."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from membership_client.admin.asking import Asker
from membership_client.admin.describing import log_offsets
from membership_client.admin.errors import OffsetsNotChangedError, raise_if_denied
from membership_client.arguments import MOST_INT64, checked_instance, checked_offsets, checked_whole, shown
from membership_client.errors import ConfigError
from membership_client.net.admin_requests import Moment
from membership_client.types import Offset, TopicPartition


@dataclass(frozen=True, slots=True)
class Earliest:
    """The start of the partition: the first record that was not deleted."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The end of the partition: records that are produced from now on."""


@dataclass(frozen=True, slots=True)
class Since:
    """The first record at that time or later; the end where there is none. A time without a zone is in UTC."""

    when: dt.datetime

    @classmethod
    def ago(cls, duration: dt.timedelta) -> Since:
        """The time that lies `duration` before now."""
        try:
            return cls(dt.datetime.now(dt.UTC) - checked_instance("duration", duration, dt.timedelta))
        except OverflowError:
            raise ConfigError(
                f"duration is too long: {duration} ago is before the first time that a datetime can hold."
            ) from None


@dataclass(frozen=True, slots=True)
class Given:
    """These offsets, each moved into the range of its partition."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Shift:
    """The committed offset plus `by` records; back if negative."""

    by: int


Target = Earliest | Latest | Since | Given | Shift


def checked_target(value: object) -> Target:
    """The target, if its type and content are right; otherwise ConfigError."""
    match value:
        case Earliest() | Latest():
            return value
        case Since(when):
            checked_instance("Since: the time", when, dt.datetime)
            return value
        case Given(offsets):
            return Given({partition: offset.offset for partition, offset in checked_offsets(offsets).items()})
        case Shift(by):
            checked_whole("Shift: the number of records", by, least=-MOST_INT64)
            return value
    raise ConfigError(f"Offsets are set to an Earliest, Latest, Since, Given or Shift, not {shown(value)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The planned change of one partition's offset."""

    partition: TopicPartition
    before: int | None
    after: int
    note: str = ""
    """Why `after` differs from the offset that was asked for; empty if it does not."""


@dataclass(frozen=True, slots=True)
class _Logs:
    """Committed offsets, starts and ends of partitions."""

    committed: Mapping[TopicPartition, int]
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


def changes(
    asker: Asker, target: Target, partitions: Iterable[TopicPartition], committed: Mapping[TopicPartition, Offset]
) -> tuple[Change, ...]:
    """The change of each partition. OffsetsNotChangedError if one of them has no known offsets: a plan is complete."""
    wanted = frozenset(partitions)
    logs = _Logs(
        committed={p: committed[p].offset for p in wanted & committed.keys()},
        starts=_found(asker, wanted, Moment.EARLIEST),
        ends=_found(asker, wanted, Moment.LATEST),
    )
    wished = _since(asker, target, logs) if isinstance(target, Since) else _wished(target, logs)
    return tuple(_change(partition, wished[partition], logs) for partition in sorted(wished))


def _wished(target: Earliest | Latest | Given | Shift, logs: _Logs) -> Mapping[TopicPartition, int]:
    match target:
        case Earliest():
            return logs.starts
        case Latest():
            return logs.ends
        case Given(offsets):
            return offsets
        case Shift(by):
            return {partition: offset + by for partition, offset in logs.committed.items()}


def _since(asker: Asker, target: Since, logs: _Logs) -> Mapping[TopicPartition, int]:
    at = target.when if target.when.tzinfo else target.when.replace(tzinfo=dt.UTC)
    found = _found(asker, frozenset(logs.ends), max(0, int(at.timestamp() * 1000)))
    # Brokers answer -1 for a time after the last record.
    return {partition: offset if offset >= 0 else logs.ends[partition] for partition, offset in found.items()}


def _found(asker: Asker, partitions: frozenset[TopicPartition], at: int) -> dict[TopicPartition, int]:
    told = log_offsets(asker, partitions, at)
    if told.missing:
        raise_if_denied(told.codes, None, "be asked for offsets")
        why = "; ".join(f"{partition}: {reason}" for partition, reason in sorted(told.missing.items()))
        raise OffsetsNotChangedError(
            f"Nothing was changed, because the offsets of some partitions are not known. {why}", {}, told.missing
        )
    return told.found


def _change(partition: TopicPartition, wished: int, logs: _Logs) -> Change:
    start, end = logs.starts[partition], logs.ends[partition]
    after = min(max(wished, start), end)
    where = "before the start" if wished < start else "beyond the end"
    return Change(
        partition=partition,
        before=logs.committed.get(partition),
        after=after,
        note="" if after == wished else f"{wished} is {where}",
    )
