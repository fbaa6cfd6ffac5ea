"""What a task has still to read of its ranges. Like reading.py, it is sent to the executors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import confluent_kafka

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

    def take(self, messages: list[confluent_kafka.Message]) -> list[confluent_kafka.Message]:
        """The records among them that belong to a range."""
        # Of a record none of what these return is None, which their types do not say.
        kind: Any = confluent_kafka.Message
        records = messages
        if troubled := any(map(kind.error, messages)):
            records = [message for message in messages if message.error() is None]
        # The last offset of each place: later ones overwrite earlier ones, at the speed of C.
        places = zip(map(kind.topic, records), map(kind.partition, records), strict=True)
        reached = dict(zip(places, map(kind.offset, records), strict=True))
        if any(offset >= self._ends.get(place, -1) for place, offset in reached.items()):
            records = [one for one in records if self._is_wanted(one)]
        for place, offset in reached.items():
            self._reach(place, offset + 1)
        if troubled:  # After the records: the end of a partition comes with the last of them.
            self._note([message for message in messages if message.error() is not None])
        return records

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
