"""Reads fixed offset ranges in a task: the same records however often it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from membership_client_spark.arrow import record_batch
from membership_client_spark.pipeline.ranges import OffsetRange

_WAIT_S = 0.1
_FIRST_RECORDS = 1_000
_MOST_RECORDS = 20_000
_BATCH_BYTES = 8_000_000
"""About this much goes to Spark at a time: large enough to be quick, small enough for any executor."""

_FINAL = frozenset(
    {
        KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - librdkafka's own codes have a leading underscore
        KafkaError.OFFSET_OUT_OF_RANGE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)


# Of a record none of these is None, which their types do not say.
_ERROR: Callable[[Message], Any] = Message.error
_TOPIC: Callable[[Message], Any] = Message.topic
_PARTITION: Callable[[Message], Any] = Message.partition
_OFFSET: Callable[[Message], Any] = Message.offset


class RangeReadError(RuntimeError):
    """A range cannot be read. Raised in the task, so that Spark tries it again elsewhere."""


def read_ranges(
    config: Mapping[str, Any], ranges: Sequence[OffsetRange], *, patience_s: float = 60.0
) -> Iterator[pa.RecordBatch]:
    """All records of the ranges, each partition's in order. RangeReadError if none came for `patience_s`."""
    consumer = Consumer(dict(config))
    try:
        consumer.assign([TopicPartition(piece.topic, piece.partition, piece.start) for piece in ranges])
        yield from _batches(consumer, _Pending(ranges), patience_s)
    finally:
        consumer.close()


def _batches(consumer: Consumer, pending: _Pending, patience_s: float) -> Iterator[pa.RecordBatch]:
    size, heard_at = _FIRST_RECORDS, time.monotonic()
    while pending:
        messages = consumer.consume(max(1, min(size, pending.offsets)), _WAIT_S)
        records = pending.take(messages)
        if records:
            batch = record_batch(records)
            size = max(1, min(_MOST_RECORDS, _BATCH_BYTES * len(records) // max(1, batch.nbytes)))
            yield batch
        if finished := pending.finished():
            consumer.pause([TopicPartition(*place) for place in finished])
        if records or finished:
            heard_at = time.monotonic()
        elif time.monotonic() - heard_at > patience_s:
            raise RangeReadError(f"Nothing came for {patience_s:g} s of {pending}.")


class _Pending:
    """What is still to come, by topic and partition."""

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

    def take(self, messages: list[Message]) -> list[Message]:
        """The records among them that belong to a range."""
        records = messages
        if any(map(_ERROR, messages)):
            records = [message for message in messages if message.error() is None]
            self._note([message for message in messages if message.error() is not None])
        # The last offset of each place: later ones overwrite earlier ones, at the speed of C.
        places = zip(map(_TOPIC, records), map(_PARTITION, records), strict=True)
        reached = dict(zip(places, map(_OFFSET, records), strict=True))
        if any(offset >= self._ends.get(place, -1) for place, offset in reached.items()):
            ends = self._ends
            records = [one for one in records if _OFFSET(one) < ends.get((_TOPIC(one), _PARTITION(one)), -1)]
        for place, offset in reached.items():
            self._reach(place, offset + 1)
        return records

    def finished(self) -> list[tuple[str, int]]:
        """The places that came to their end since this was last asked."""
        finished, self._finished = self._finished, []
        return finished

    def _note(self, errors: list[Message]) -> None:
        for message in errors:
            error, place = _ERROR(message), (_TOPIC(message), _PARTITION(message))
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
                self._reach(place, _OFFSET(message))
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
