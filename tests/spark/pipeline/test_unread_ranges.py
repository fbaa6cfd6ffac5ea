"""Which of the messages that a reader gets belong to its ranges, and when it has all of them."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from membership_client_spark.arrow import COLUMNS, Run, record_batch, runs_of
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.reading import RangeReadError, UnreadRanges


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


STAMPS = st.sampled_from([(0, -1), (1, 1_700_000_000_000), (2, 5)])


@st.composite
def polls(draw: st.DrawFn) -> list[Message]:
    """Records as a consumer hands them out: of each partition in the order of their offsets, with gaps."""
    pieces = st.tuples(st.sampled_from("tu"), st.integers(0, 1), st.integers(0, 2), st.integers(1, 60), STAMPS)
    found, following = list[Message](), dict[tuple[str, int], int]()
    for topic, partition, gap, count, stamp in draw(st.lists(pieces, max_size=6)):
        start = following.get((topic, partition), 0) + gap
        following[topic, partition] = start + count
        offsets = range(start, start + count)
        found += [Message(topic=topic, partition=partition, offset=one, value=b"v", timestamp=stamp) for one in offsets]
    return found


def test_a_gap_as_long_as_what_lies_in_between_is_seen() -> None:
    """The records of the other partition were taken for those that are missing."""
    messages = [record(0, 0), record(1, 0), record(0, 2)]
    assert runs_of(messages, "t") == [Run("t", 0, 0, 0, 1), Run("t", 1, 0, 0, 1), Run("t", 0, 2, 2, 1)]
    assert offsets(record_batch(messages * 16, runs=runs_of(messages * 16))) == [(0, 0), (1, 0), (0, 2)] * 16


@settings(deadline=None)
@given(polls(), st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))
def test_runs_give_the_same_rows_as_looking_at_every_record(messages: list[Message], columns: list[str]) -> None:
    """Also where topics or partitions change, where offsets have gaps, and with the columns in any order."""
    topics = {message.topic() for message in messages}
    runs = runs_of(messages, topics.pop() if len(topics) == 1 else None)
    assert [(run.topic, run.partition) for run in runs for _ in range(run.length)] == [
        (message.topic(), message.partition()) for message in messages
    ]
    assert all(one[:2] != other[:2] for one, other in itertools.pairwise(runs)), "none could be longer"
    batch = record_batch(messages, columns, runs)
    assert batch.schema.names == columns
    assert batch.equals(record_batch(messages).select(columns))


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
