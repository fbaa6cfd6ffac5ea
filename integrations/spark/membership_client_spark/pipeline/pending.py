"""What a task has still to read of its ranges. Like reading.py, it is sent to the executors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import confluent_kafka
import pyarrow as pa
import pyarrow.compute as pc

from membership_client_spark.arrow import record_batch
from membership_client_spark.pipeline.ranges import OffsetRange

_FINAL = frozenset(
    {
        confluent_kafka.KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - librdkafka's own codes have a leading underscore
        confluent_kafka.KafkaError.OFFSET_OUT_OF_RANGE,
        confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)


class RangeReadError(RuntimeError):
    """A range cannot be read. Raised in the task, so that Spark tries it again elsewhere."""


class Pending:
    """By topic and partition. Belongs to one thread."""

    def __init__(self, ranges: Iterable[OffsetRange]) -> None:
        self._ends = {(piece.topic, piece.partition): piece.end for piece in ranges}
        self._positions = {(piece.topic, piece.partition): piece.start for piece in ranges}
        self._finished: list[tuple[str, int]] = []
        self._trouble = ""

    def __bool__(self) -> bool:
        return bool(self._ends)

    def __str__(self) -> str:
        left = (f"{t}-{p}[{self._positions[t, p]}, {end})" for (t, p), end in sorted(self._ends.items()))
        return ", ".join(left) + (f"; the last error was {self._trouble}" if self._trouble else "")

    @property
    def offsets(self) -> int:
        return sum(end - self._positions[place] for place, end in self._ends.items())

    def take(self, messages: list[Any]) -> pa.RecordBatch:
        """The records among them that belong to a range; maybe none."""
        errors = [message for message in messages if message.error() is not None]
        records = [message for message in messages if message.error() is None] if errors else messages
        batch = record_batch(records)
        reached = last_offsets(batch)
        if any(offset >= self._ends.get(place, -1) for place, offset in reached.items()):
            batch = record_batch([record for record in records if self._is_wanted(record)])
        for place, offset in reached.items():
            self._reach(place, offset + 1)
        self._note(errors)  # After the records: the end of a partition comes with the last of them.
        return batch

    def _is_wanted(self, record: Any) -> bool:
        return bool(record.offset() < self._ends.get((record.topic(), record.partition()), -1))

    def finished(self) -> list[tuple[str, int]]:
        """The places that came to their end since this was last asked."""
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
                self._trouble = error.str()

    def _reach(self, place: tuple[str, int], position: int) -> None:
        if place not in self._ends:
            return
        self._positions[place] = position
        if position >= self._ends[place]:
            del self._ends[place]
            self._finished.append(place)


def last_offsets(batch: pa.RecordBatch) -> dict[tuple[str, int], int]:
    """By topic and partition. Records come in runs of one partition each, so few of them need to be looked at."""
    runs = [pc.run_end_encode(batch[name]).run_ends.to_pylist() for name in ("topic", "partition")]
    ends = sorted({end for column in runs for end in column})
    last = batch.select(["topic", "partition", "offset"]).take(pa.array([end - 1 for end in ends], pa.int64()))
    topics, partitions, offsets = (column.to_pylist() for column in last)
    return dict(zip(zip(topics, partitions, strict=True), offsets, strict=True))
