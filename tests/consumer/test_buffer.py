"""Records in the buffer: what can be taken, what is withheld, and what is dropped with its partition."""

from __future__ import annotations

import pytest
from confluent_kafka import Message

from membership_client import TopicPartition
from membership_client.consumer.buffer import Buffer

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def messages(*places: tuple[int, int]) -> list[Message]:
    return [Message(topic="t", partition=partition, offset=offset) for partition, offset in places]


def holding(*places: tuple[int, int]) -> Buffer:
    buffer = Buffer()
    buffer.put(messages(*places))
    return buffer


def taken(buffer: Buffer) -> list[tuple[int | None, int | None]]:
    found: list[tuple[int | None, int | None]] = []
    while buffer:
        message = buffer.take()
        found.append((message.partition(), message.offset()))
    return found


def test_records_leave_in_order() -> None:
    """And then there is none."""
    buffer = holding((0, 1), (1, 1), (0, 2))
    assert taken(buffer) == [(0, 1), (1, 1), (0, 2)]
    with pytest.raises(IndexError):
        buffer.take()


def test_withheld_partitions_come_in_order_when_they_are_released() -> None:
    """Before what came meanwhile."""
    buffer = holding((0, 1), (1, 1), (0, 2), (1, 2))
    buffer.withhold([P0])
    assert taken(buffer) == [(1, 1), (1, 2)]
    buffer.put(messages((1, 3)))
    buffer.release([P0])
    assert taken(buffer) == [(0, 1), (0, 2), (1, 3)]


def test_what_is_read_of_a_withheld_partition_is_withheld() -> None:
    """Librdkafka may have had it in hand."""
    buffer = holding((0, 1))
    buffer.withhold([P0])
    assert buffer.read(lambda count, _: messages((0, 2), (1, 1))[:count], 2, 0.0) == 1
    assert taken(buffer) == [(1, 1)]
    buffer.release([P0])
    assert taken(buffer) == [(0, 1), (0, 2)]


def test_what_is_dropped_is_gone() -> None:
    """Withheld or not; other partitions stay."""
    buffer = holding((0, 1), (1, 1))
    buffer.withhold([P0])
    buffer.drop([P0])
    buffer.release([P0])
    buffer.put(messages((0, 5)))
    assert taken(buffer) == [(1, 1), (0, 5)]


def test_what_was_taken_and_not_handed_out_goes_back_to_its_place() -> None:
    """As consume() does when it is interrupted."""
    buffer = holding((0, 1), (0, 2), (0, 3))
    buffer.put_back([buffer.take(), buffer.take()])
    assert taken(buffer) == [(0, 1), (0, 2), (0, 3)]


def test_a_partition_is_read_up_to_its_first_record_in_the_buffer() -> None:
    """Withheld or not."""
    buffer = holding((0, 7), (1, 3), (0, 8))
    buffer.withhold([P1])
    assert buffer.positions() == {P0: 7, P1: 3}


def test_a_partition_has_no_position_before_its_first_record_was_handed_out() -> None:
    """Or what was only read ahead would be committed, as an offset that the application has not reached."""
    buffer = Buffer()
    buffer.restart([P0, P1])
    buffer.read(lambda *_: messages((0, 7), (1, 3), (0, 8)), 3, 0.0)
    assert buffer.positions() == {P0: None, P1: None}
    buffer.take()
    assert buffer.positions() == {P0: 8, P1: None}


def test_some_partitions_only() -> None:
    """Those that are wanted leave in their order, up to a number, and the others stay in theirs."""
    buffer = holding((0, 1), (1, 1), (0, 2), (1, 2), (0, 3))
    found = buffer.take_where(2, lambda message: message.partition() == 0, lambda _: False)
    assert [(message.partition(), message.offset()) for message in found] == [(0, 1), (0, 2)]
    assert buffer.take_where(9, lambda message: message.partition() == 7, lambda _: False) == []
    assert buffer.counts() == {P0: 1, P1: 2}
    assert taken(buffer) == [(1, 1), (1, 2), (0, 3)]


def test_a_record_that_leaves_alone() -> None:
    """Those before it leave first, then it alone, then those after it."""
    buffer = holding((0, 1), (0, 2), (0, 3), (0, 4))
    found = [
        [message.offset() for message in buffer.take_where(9, lambda _: True, lambda message: message.offset() == 2)]
        for _ in range(4)
    ]
    assert found == [[1], [2], [3, 4], []]


def test_what_a_batch_has_gathered_counts_as_not_read() -> None:
    """Until the application gets it. Whichever of two threads gathers the earlier records."""
    buffer = holding((0, 1), (0, 2), (0, 3))
    buffer.restart([P0])
    buffer.note_read(messages((0, 0)))
    later, earlier = buffer.open_batch(), buffer.open_batch()
    buffer.fill(earlier, 1)
    buffer.fill(later, 1)
    assert buffer.positions() == {P0: 1}
    assert len(buffer.close_batch(earlier)) == 1
    assert buffer.positions() == {P0: 2}


def test_a_dropped_partition_leaves_a_batch() -> None:
    """The bug: its records were put back after the drop, and handed out when another member had them."""
    buffer = holding((0, 1), (1, 1), (0, 2))
    batch = buffer.open_batch()
    buffer.fill(batch, 3)
    buffer.drop([P0])
    assert len(batch) == 1
    buffer.give_back(batch)
    assert taken(buffer) == [(1, 1)]


def test_a_withheld_partition_leaves_a_batch_and_comes_in_order() -> None:
    """What was taken first, then what was gathered, then what was in line."""
    buffer = holding((0, 1), (0, 2), (1, 1), (0, 3))
    first = buffer.take()
    batch = buffer.open_batch()
    buffer.fill(batch, 2)
    buffer.withhold([P0])
    buffer.put_back([first])
    assert [(message.partition(), message.offset()) for message in buffer.close_batch(batch)] == [(1, 1)]
    assert taken(buffer) == []
    buffer.release([P0])
    assert taken(buffer) == [(0, 1), (0, 2), (0, 3)]


def test_a_batch_is_cleared_with_the_buffer() -> None:
    """By an assignment that replaces all."""
    buffer = holding((0, 1))
    batch = buffer.open_batch()
    buffer.fill(batch, 1)
    buffer.clear()
    assert buffer.close_batch(batch) == []


def test_a_cleared_buffer_has_nothing_of_any_partition() -> None:
    """Neither in line nor withheld, and whatever was noted of their beginnings is forgotten."""
    buffer = Buffer()
    buffer.restart([P0, P1])
    buffer.read(lambda *_: messages((0, 7), (1, 3)), 2, 0.0)
    buffer.withhold([P0])
    buffer.clear()
    buffer.release([P0])
    assert taken(buffer) == []
    buffer.put(messages((0, 7), (1, 3)))
    assert buffer.positions() == {P0: 7, P1: 3}


def test_a_dropped_partition_begins_anew() -> None:
    """When it comes back, its first record may have been handed out by another consumer."""
    buffer = Buffer()
    buffer.restart([P0])
    buffer.read(lambda *_: messages((0, 7)), 1, 0.0)
    buffer.drop([P0])
    buffer.put(messages((0, 7)))
    assert buffer.positions() == {P0: 7}


@pytest.mark.parametrize(("size", "ahead"), [(1023, 1024), (2**40, 1)])
def test_about_a_megabyte_is_read_ahead(size: int, ahead: int) -> None:
    """By the size of the newest records; of larger ones there is always one."""

    class Sized(Message):
        def __len__(self) -> int:
            return size

    buffer = Buffer()
    buffer.put([Sized(topic="t", partition=0, offset=offset) for offset in range(3)])
    assert buffer.next_ahead(1000, 10_000) == ahead
