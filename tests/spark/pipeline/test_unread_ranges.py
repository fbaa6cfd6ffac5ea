"""Which of the messages that a reader gets belong to its ranges, and when it has all of them."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from membership_client_spark.arrow import record_batch
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.reading import RangeReadError, UnreadRanges, last_offsets


def record(partition: int, offset: int) -> Message:
    return Message(topic="t", partition=partition, offset=offset, value=b"")


def end_of(partition: int, offset: int) -> Message:
    return trouble(partition, offset, KafkaError._PARTITION_EOF)


def trouble(partition: int, offset: int, code: int) -> Message:
    return Message(topic="t", partition=partition, offset=offset, error=KafkaError(code))


def offsets(batch: pa.RecordBatch) -> list[tuple[int, int]]:
    return list(zip(batch["partition"].to_pylist(), batch["offset"].to_pylist(), strict=True))


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[OffsetRange], list[list[Message]], set[tuple[int, int]]]:
    """Ranges of partitions with gaps, what a reader gets of them, in pieces, and which records it should keep."""
    ranges, queues, wanted = [], [], set()
    for partition in range(draw(st.integers(1, 3))):
        start, end = sorted(draw(st.tuples(st.integers(0, 12), st.integers(0, 12))))
        present = sorted(draw(st.sets(st.integers(start, 15))))
        log_end = max([end + 1, *(offset + 1 for offset in present)]) if draw(st.booleans()) else end + 1
        present = [offset for offset in present if offset < log_end]
        ranges.append(OffsetRange("t", partition, start, end + 1))
        queues.append([*(record(partition, offset) for offset in present), end_of(partition, log_end)])
        wanted |= {(partition, offset) for offset in present if offset <= end}
    order = draw(st.permutations([number for number, queue in enumerate(queues) for _ in queue]))
    stream = [queues[number].pop(0) for number in order]
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)))) | {0, len(stream)})
    return ranges, [stream[a:b] for a, b in itertools.pairwise(cuts)], wanted


@settings(deadline=None)
@given(deliveries())
def test_all_of_a_range_and_nothing_else(
    delivery: tuple[list[OffsetRange], list[list[Message]], set[tuple[int, int]]],
) -> None:
    """However messages are cut into pieces. Once the end of a partition dropped the records that came along with it."""
    ranges, pieces, wanted = delivery
    unread, kept, finished = UnreadRanges(ranges), list[tuple[int, int]](), list[tuple[str, int]]()
    for piece in pieces:
        kept += offsets(unread.take(piece))
        finished += unread.finished()
    assert set(kept) == wanted
    assert len(kept) == len(wanted)
    assert not unread
    assert sorted(finished) == [("t", piece.partition) for piece in ranges]


def test_partitions_of_several_topics_may_take_turns() -> None:
    """Runs end where the topic changes, also if the number of the partition stays the same."""
    names = ["t", "u", "u", "t"]
    mixed = [Message(topic=name, partition=0, offset=number, value=b"") for number, name in enumerate(names)]
    assert last_offsets(record_batch(mixed)) == {("t", 0): 3, ("u", 0): 2}


def test_it_knows_how_much_is_left() -> None:
    """In offsets, and in words with the last error that may pass."""
    unread = UnreadRanges([OffsetRange("t", 0, 5, 10), OffsetRange("t", 1, 0, 3)])
    unread.take([record(0, 7), trouble(1, 0, KafkaError.NOT_LEADER_FOR_PARTITION)])
    assert unread.offsets == 5
    assert str(unread).startswith("t-0[8, 10), t-1[0, 3); the last error was")


def test_records_that_are_gone_are_an_error_at_once() -> None:
    """They cannot come back, and an epoch has the same rows each time or none."""
    with pytest.raises(RangeReadError, match="t-0 cannot be read at 5"):
        UnreadRanges([OffsetRange("t", 0, 5, 10)]).take([trouble(0, 5, KafkaError._AUTO_OFFSET_RESET)])
