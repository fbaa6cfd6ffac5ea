"""Changes a group's offsets: makes a plan for a target, and carries it out. Errors name the offsets that were changed."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kio.schema.errors import ErrorCode

from membership_client.admin.asking import PASSING, AgainError, Asker
from membership_client.admin.describing import log_offsets
from membership_client.admin.errors import (
    GroupNotEmptyError,
    NoAnswerError,
    OffsetsNotChangedError,
    error_name,
    expect,
    raise_if_denied,
)
from membership_client.admin.views import GroupView
from membership_client.arguments import (
    MOST_INT64,
    checked_instance,
    checked_items,
    checked_offsets,
    checked_partition,
    checked_text,
    checked_whole,
    shown,
)
from membership_client.core.events import CommitOffsets, OffsetsCommitted, Request, Response
from membership_client.errors import ConfigError
from membership_client.net.admin_requests import ForgetOffsets, Moment
from membership_client.types import Offset, TopicPartition

_REASONS = {
    ErrorCode.unknown_member_id: "a member has joined the group meanwhile",
    ErrorCode.group_subscribed_to_topic: "a member of the group subscribes to the topic",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a reset would make. Making the plan changes nothing."""

    group_id: str
    changes: tuple[Change, ...]


def checked_plan(value: object) -> Plan:
    """The plan, if it can be carried out; otherwise ConfigError."""
    made = checked_instance("plan", value, Plan)
    return Plan(
        checked_text("plan: the group", made.group_id),
        checked_items("plan: the changes", made.changes, _checked_change),
    )


def _checked_change(name: str, value: object) -> Change:
    change = checked_instance(name, value, Change)
    ((partition, _),) = checked_offsets({checked_partition(change.partition): change.after}).items()
    return replace(change, partition=partition)


def plan(
    asker: Asker,
    group_id: str,
    to: Target,
    committed: Mapping[TopicPartition, Offset],
    *,
    topics: Iterable[str],
    partitions: Iterable[TopicPartition],
) -> Plan:
    """A plan for these topics and partitions; for all committed partitions if none are named."""
    if isinstance(to, Given):
        return Plan(group_id, changes(asker, to, to.offsets, committed))
    wanted = frozenset(partitions) | _all_of(asker, frozenset(topics)) or committed.keys()
    return Plan(group_id, changes(asker, to, wanted, committed))


def _all_of(asker: Asker, topics: frozenset[str]) -> frozenset[TopicPartition]:
    if not topics:
        return frozenset()
    cluster = asker.leaders(topics)
    raise_if_denied(dict.fromkeys(cluster.denied, ErrorCode.topic_authorization_failed), None, "be asked about topics")
    found = cluster.leaders.keys() | cluster.unled
    if unknown := topics - {partition.topic for partition in found}:
        raise ConfigError(f"There is no topic {', '.join(sorted(unknown))}.")
    return frozenset(found)


def require_empty(view: GroupView) -> None:
    """GroupNotEmptyError if the group has members: brokers then refuse commits from outside, even for partitions without an owner."""
    if view.members:
        names = ", ".join(member.name for member in view.members)
        raise GroupNotEmptyError(f"Group {view.group_id} is {view.state} and has members: {names}.")


def commit(asker: Asker, made: Plan) -> None:
    """Commit the plan's offsets. OffsetsNotChangedError if some could not be changed."""
    if not made.changes:
        return
    offsets = {change.partition: Offset(change.after) for change in made.changes}
    request = CommitOffsets(group_id=made.group_id, member_id="", epoch=-1, instance_id=None, offsets=offsets)
    _carry_out(asker, request, made.group_id, {change.partition: change.after for change in made.changes})


def forget(asker: Asker, group_id: str, partitions: frozenset[TopicPartition]) -> None:
    """Delete committed offsets. OffsetsNotChangedError if some could not be deleted."""
    if partitions:
        request = ForgetOffsets(group_id=group_id, partitions=partitions)
        _carry_out(asker, request, group_id, dict.fromkeys(partitions))


def _carry_out(asker: Asker, request: Request, group_id: str, wished: Mapping[TopicPartition, int | None]) -> None:
    try:
        answer = asker.insist(lambda: _attempt(asker, request, group_id))
    except NoAnswerError as silence:
        unknown = f"It is not known whether an offset was changed; show the offsets before you go on. {silence.detail}"
        raise OffsetsNotChangedError(unknown, {}, dict.fromkeys(wished, "no answer")) from silence
    codes = expect(OffsetsCommitted, answer, group_id, "have its offsets changed").codes
    raise_if_denied(codes, group_id, "have its offsets changed")
    refused = {p: _why(codes.get(p, -1)) for p in wished if codes.get(p, -1) != ErrorCode.none}
    if refused:
        changed = {partition: offset for partition, offset in wished.items() if partition not in refused}
        raise OffsetsNotChangedError(_account(changed, refused), changed, refused)


def _attempt(asker: Asker, request: Request, group_id: str) -> Response:
    """Ask once. AgainError if the coordinator has moved or is loading, which it answers for each partition."""
    answer = asker.ask_coordinator_once(group_id, request)
    if isinstance(answer, OffsetsCommitted) and (passing := PASSING.intersection(answer.codes.values())):
        asker.forget_coordinator(group_id)
        raise AgainError(f"{', '.join(map(error_name, sorted(passing)))}.")
    return answer


def _why(code: int) -> str:
    return next((reason for known, reason in _REASONS.items() if known == code), error_name(code))


def _account(changed: Mapping[TopicPartition, int | None], refused: Mapping[TopicPartition, str]) -> str:
    done = f"Changed: {', '.join(map(str, sorted(changed)))}." if changed else "Nothing was changed."
    return f"{done} Not changed: {'; '.join(f'{p}: {why}' for p, why in sorted(refused.items()))}."


# --- offsets as CSV --------------------------------------------------------------------------------------------------


_DIGITS = re.compile(r"[0-9]{1,19}")
"""An int64 has at most 19 digits."""


def write_csv(offsets: Mapping[TopicPartition, int]) -> str:
    """Offsets as lines of `topic,partition,offset`, which `read_csv` reads."""
    text = io.StringIO()
    rows = ((*partition, offset.offset) for partition, offset in sorted(checked_offsets(offsets).items()))
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_csv(text: str, group_id: str) -> dict[TopicPartition, int]:
    """Offsets of the group. With four columns the first is the group, and lines of other groups are ignored.

    Raises:
        ConfigError: a line cannot be read, or names a partition a second time.
    """
    offsets: dict[TopicPartition, int] = {}
    group_id = checked_text("group_id", group_id)
    for number, row in enumerate(_rows(text), start=1):
        if not row or (len(row) == 4 and row[0] != group_id):
            continue
        partition, offset = _parse(row[-3:], number)
        if partition in offsets:
            raise ConfigError(f"Line {number} names {partition} a second time.")
        offsets[partition] = offset
    return offsets


def _rows(text: object) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(checked_instance("text", text, str))))
    except csv.Error as error:
        raise ConfigError(f"This is not CSV: {error}.") from None


def _parse(row: list[str], number: int) -> tuple[TopicPartition, int]:
    cells = [cell.strip() for cell in row]
    if len(cells) != 3 or not cells[0] or not all(map(_DIGITS.fullmatch, cells[1:])):
        raise ConfigError(f"Line {number} is not topic,partition,offset: {shown(','.join(row))}.")
    try:
        ((partition, offset),) = checked_offsets({(cells[0], int(cells[1])): int(cells[2])}).items()
    except ConfigError as error:
        raise ConfigError(f"Line {number}: {error}") from None
    return partition, offset.offset


# --- targets of a reset, and the change that a target means for each partition ---------------------------------------


@dataclass(frozen=True, slots=True)
class Earliest:
    """The start of the partition: the first record that was not deleted."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The end of the partition: records that are produced from now on."""


@dataclass(frozen=True, slots=True)
class Since:
    """The first record at that time or later; the end of the partition if there is none. A time without a zone is in UTC."""

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
    """These offsets. An offset outside its partition's range is moved to the start or the end."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Shift:
    """The committed offset plus `by` records; a negative `by` goes back."""

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
    """Why `after` differs from the offset that was asked for; empty if it is the same."""


@dataclass(frozen=True, slots=True)
class _Logs:
    """Committed offsets, starts and ends of partitions."""

    committed: Mapping[TopicPartition, int]
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


def changes(
    asker: Asker, target: Target, partitions: Iterable[TopicPartition], committed: Mapping[TopicPartition, Offset]
) -> tuple[Change, ...]:
    """The change of each partition. OffsetsNotChangedError if the offsets of one of them cannot be found."""
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
