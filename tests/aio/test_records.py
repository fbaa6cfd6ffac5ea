"""Records in line: what can be taken, and what is dropped with its partition."""

from __future__ import annotations

from typing import cast

import pytest
from confluent_kafka import Message

from membership_client import TopicPartition
from membership_client.aio.records import Records


class Read:
    """As much of a Message as a line looks at."""

    def __init__(self, partition: int, offset: int) -> None:
        self._where = (partition, offset)

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._where[0]

    def offset(self) -> int:
        return self._where[1]

    def error(self) -> None:
        return None


def line(*places: tuple[int, int]) -> Records:
    records = Records()
    records.put(cast("Message", Read(*place)) for place in places)
    return records


def taken(records: Records, count: int = 100) -> list[tuple[int | None, int | None]]:
    return [(message.partition(), message.offset()) for message in records.take(count)]


def test_records_leave_in_order_and_only_as_many_as_are_wanted() -> None:
    """The others stay."""
    records = line((0, 1), (1, 1), (0, 2))
    assert taken(records, 2) == [(0, 1), (1, 1)]
    assert taken(records) == [(0, 2)]
    assert not records


def test_an_error_waits_for_its_turn_and_is_raised_once() -> None:
    """Records before it are handed out first, records after it later."""
    records = line((0, 1))
    records.put([LookupError("once")])
    records.put(line((0, 2)).take(1))
    assert taken(records) == [(0, 1)]
    with pytest.raises(LookupError):
        records.take(1)
    assert taken(records) == [(0, 2)]


def test_paused_partitions_keep_their_place() -> None:
    """They do not count, and come in order when they are resumed."""
    records = line((0, 1), (1, 1), (0, 2), (1, 2))
    records.pause([TopicPartition("t", 0)])
    assert len(records) == 2
    assert taken(records) == [(1, 1), (1, 2)]
    records.resume([TopicPartition("t", 0)])
    assert taken(records) == [(0, 1), (0, 2)]


def test_an_error_behind_paused_records_does_not_disturb_their_order() -> None:
    """It is raised, and they stay."""
    records = line((0, 1), (0, 2))
    records.put([LookupError()])
    records.pause([TopicPartition("t", 0)])
    with pytest.raises(LookupError):
        records.take(5)
    records.resume([TopicPartition("t", 0)])
    assert taken(records) == [(0, 1), (0, 2)]


def test_what_is_dropped_is_gone() -> None:
    """Errors stay, and so do other partitions."""
    records = line((0, 1), (1, 1))
    records.put([LookupError()])
    records.drop([TopicPartition("t", 0)])
    assert taken(records) == [(1, 1)]
    with pytest.raises(LookupError):
        records.take(1)


def test_a_partition_is_read_up_to_its_first_record_in_line() -> None:
    """Whatever comes behind it."""
    assert line((0, 7), (1, 3), (0, 8)).firsts() == {("t", 0): 7, ("t", 1): 3}
