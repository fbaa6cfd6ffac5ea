"""An epoch as a DataFrame: tasks read fixed offset ranges, the same records however often that is done.

The code of the tasks is sent to the executors, which need confluent-kafka and not this package. Pickle cannot name
librdkafka's classes, so they are used as attributes of their module only.
"""

from __future__ import annotations

import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import confluent_kafka
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.arrow import COLUMNS, Run, ddl, record_batch, run_of, runs_of
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.spark_session import numbers_of_unknown_size

for _module in (record_batch.__module__, OffsetRange.__module__, __name__):
    cloudpickle.register_pickle_by_value(sys.modules[_module])  # type: ignore[no-untyped-call]


def epoch_frame(
    spark: SparkSession,
    tasks: Sequence[Sequence[OffsetRange]],
    readers: Mapping[str, Any],
    columns: Sequence[str] = COLUMNS,
) -> DataFrame:
    """The records of the ranges, with one task for each entry of `tasks`. Nothing is read before Spark evaluates it."""
    by_task, config, names = [tuple(task) for task in tasks], dict(readers), tuple(columns)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_ranges(config, by_task[number], names)

    return numbers_of_unknown_size(spark, len(by_task)).mapInArrow(read, ddl(names))


# --- in a task -------------------------------------------------------------------------------------------------------

_WAIT_S = 0.1
_FIRST_RECORDS = 100
_MOST_RECORDS = 20_000
_BATCH_BYTES = 8_000_000
"""About the size of a batch for Spark: large enough to be quick, small enough for any executor."""


class RangeReadError(RuntimeError):
    """A range cannot be read. Raised in the task, so that Spark tries it again elsewhere."""


def read_ranges(
    config: Mapping[str, Any],
    ranges: Sequence[OffsetRange],
    columns: Sequence[str] = COLUMNS,
    *,
    patience_s: float = 60.0,
) -> Iterator[pa.RecordBatch]:
    """All records of the ranges, each partition's in order. RangeReadError if no record came for `patience_s`."""
    consumer = confluent_kafka.Consumer(dict(config))
    try:
        consumer.assign([confluent_kafka.TopicPartition(p.topic, p.partition, p.start) for p in ranges])
        yield from _batches(consumer, UnreadRanges(ranges, columns), patience_s)
    finally:
        consumer.close()


def _batches(consumer: confluent_kafka.Consumer, unread: UnreadRanges, patience_s: float) -> Iterator[pa.RecordBatch]:
    size, heard_at = _FIRST_RECORDS, time.monotonic()
    while unread:
        batch = unread.take(consumer.consume(max(1, min(size, unread.offsets)), _WAIT_S))
        if batch.num_rows:
            size = max(1, min(_MOST_RECORDS, _BATCH_BYTES * batch.num_rows // max(1, batch.nbytes)))
            yield batch
        if finished := unread.finished():
            consumer.pause([confluent_kafka.TopicPartition(*place) for place in finished])
        if batch.num_rows or finished:
            heard_at = time.monotonic()
        elif time.monotonic() - heard_at > patience_s:
            raise RangeReadError(f"No record came for {patience_s:g} s of {unread}.")


_FINAL = frozenset(
    {
        confluent_kafka.KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - librdkafka's own codes have a leading underscore
        confluent_kafka.KafkaError.OFFSET_OUT_OF_RANGE,
        confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)
"""Errors that do not go away while the task waits."""


class UnreadRanges:
    """What a task has still to read of its ranges, by topic and partition. Belongs to one thread."""

    def __init__(self, ranges: Iterable[OffsetRange], columns: Sequence[str] = COLUMNS) -> None:
        self._columns = columns
        self._ends = {(piece.topic, piece.partition): piece.end for piece in ranges}
        self._positions = {(piece.topic, piece.partition): piece.start for piece in ranges}
        topics = {topic for topic, _ in self._ends}
        self._topic = topics.pop() if len(topics) == 1 else None
        """The only one, if it is one."""
        self._finished: list[tuple[str, int]] = []
        self._last_error = ""

    def __bool__(self) -> bool:
        return bool(self._ends)

    def __str__(self) -> str:
        left = (f"{t}-{p}[{self._positions[t, p]}, {end})" for (t, p), end in sorted(self._ends.items()))
        return ", ".join(left) + (f"; the last error was {self._last_error}" if self._last_error else "")

    @property
    def offsets(self) -> int:
        """How many are left."""
        return sum(end - self._positions[place] for place, end in self._ends.items())

    def take(self, messages: list[Any]) -> pa.RecordBatch:
        """Those of the messages that are records of a range; the batch may be empty. RangeReadError for a final error."""
        errors = [message for message in messages if message.error() is not None]
        records = [message for message in messages if message.error() is None] if errors else messages
        seen = runs = runs_of(records, self._topic)
        if any(run.last >= self._end(run) for run in seen):
            records, runs = self._wanted(records, seen)
        for run in seen:
            self._reach((run.topic, run.partition), run.last + 1)
        self._note(errors)  # After the records: the end of a partition comes with the last of them.
        return record_batch(records, self._columns, runs)

    def _end(self, run: Run) -> int:
        """Where the range of this partition ends; -1, so that no record is wanted, for a partition that was read or was not asked for."""
        return self._ends.get((run.topic, run.partition), -1)

    def _wanted(self, records: list[Any], runs: Sequence[Run]) -> tuple[list[Any], list[Run]]:
        kept, cut, begin = list[Any](), list[Run](), 0
        for run in runs:
            end = begin + run.length
            stop = bisect_left(records, self._end(run), begin, end, key=lambda record: record.offset())
            if stop > begin:
                kept += records[begin:stop]
                cut.append(run_of(records, begin, stop))
            begin = end
        return kept, cut

    def finished(self) -> list[tuple[str, int]]:
        """The partitions that came to their end since this was last called."""
        finished, self._finished = self._finished, []
        return finished

    def _note(self, errors: list[Any]) -> None:
        for message in errors:
            error, place = message.error(), (message.topic(), message.partition())
            if error.code() == confluent_kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
                self._reach(place, message.offset())
            elif error.code() in _FINAL:
                raise RangeReadError(f"{place[0]}-{place[1]} cannot be read at {message.offset()}: {error.str()}")
            else:
                self._last_error = error.str()

    def _reach(self, place: tuple[str, int], position: int) -> None:
        if place not in self._ends:
            return
        self._positions[place] = position
        if position >= self._ends[place]:
            del self._ends[place]
            self._finished.append(place)
