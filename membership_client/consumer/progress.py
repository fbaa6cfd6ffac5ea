"""How far a Consumer has read each partition. No broker is asked: fetching knows it already."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import confluent_kafka
from confluent_kafka import KafkaException, Message

from membership_client.consumer.buffer import Place, timestamp_of
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.consumer.translate import theirs
from membership_client.types import PartitionProgress, Progress, TopicPartition

_EXPORTER_S = 0.5
"""How long a thread that exports metrics waits for librdkafka; then it gets what was known before.

Without this limit an SDK that holds a lock of its own meanwhile could wait for an application's callback inside librdkafka
that waits for the same lock.
"""

_FRESH_S = 1.0
"""For so long a result is used again, because an exporter asks once for each metric."""

_SAMPLE_S = 10.0
"""After this time the timestamp of a record says nothing of the next record."""

_NOTHING = Progress({})


class ProgressReader:
    """Any thread may use it. `counts` says whether the group counts on this member; if not, others may own its partitions."""

    def __init__(
        self,
        raw: confluent_kafka.Consumer,
        librdkafka: Librdkafka,
        pending: PendingOffsets,
        counts: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._raw = raw
        self._librdkafka = librdkafka
        self._pending = pending
        self._counts = counts
        self._clock = clock
        self._last = _NOTHING
        self._read_at = float("-inf")

    def read(self) -> Progress:
        """The progress of this moment. Waits while another thread is inside librdkafka, as other calls of a Consumer do."""
        with self._librdkafka.lock.calling():
            return self._found()

    def for_exporter(self) -> Progress:
        """The progress as it was a second ago, or longer if librdkafka is busy."""
        if self._clock() - self._read_at > _FRESH_S:
            with self._librdkafka.lock.calling_within(_EXPORTER_S) as got:
                if got:
                    self._last, self._read_at = self._found(), self._clock()
        return self._last if self._counts() else _NOTHING

    def _found(self) -> Progress:
        fetched = sorted(self._librdkafka.assignment()) if self._counts() else []
        if not fetched:  # This also covers a closed consumer, which has no positions.
            return _NOTHING
        waiting = self._librdkafka.buffer.next_ones()
        positions = {
            (place.topic, place.partition): place.offset for place in self._librdkafka.position(theirs(fetched))
        }
        return Progress({partition: self._of(partition, positions, waiting) for partition in fetched})

    def _of(
        self, partition: TopicPartition, positions: Mapping[tuple[str, int], int], waiting: Mapping[Place, Message]
    ) -> PartitionProgress:
        committed = _known(self._pending.committed(partition, confluent_kafka.OFFSET_INVALID))
        first = waiting.get(partition)
        position = _known(positions[partition])
        end = self._end(partition)
        # No record was handed out: reading starts at the first record that waits, or at the offset that it was given.
        if position is None:
            position = self._start(partition, committed) if first is None else first.offset()
        if position is None and end == 0:
            position = 0
        return PartitionProgress(
            position=position,
            committed=committed,
            end=end,
            time_lag_s=self._time_lag_s(partition, first, is_at_end=None not in {position, end} and position == end),
        )

    def _start(self, partition: TopicPartition, committed: int | None) -> int | None:
        """The offset that the partition was given; without one the committed one, but not after a seek to the begin or end."""
        start = self._librdkafka.starts.get(partition, confluent_kafka.OFFSET_INVALID)
        is_logical = start in {confluent_kafka.OFFSET_BEGINNING, confluent_kafka.OFFSET_END}
        return None if is_logical else committed if _known(start) is None else start

    def _end(self, partition: TopicPartition) -> int | None:
        """The end that librdkafka has in memory; it raises for a partition of which it knows none yet."""
        try:
            return _known(self._raw.get_watermark_offsets(confluent_kafka.TopicPartition(*partition), cached=True)[1])
        except KafkaException:
            return None

    def _time_lag_s(self, partition: TopicPartition, first: Message | None, *, is_at_end: bool) -> float | None:
        timestamp, noted_at = self._librdkafka.buffer.timestamps.get(partition, (None, float("-inf")))
        if first is not None:
            timestamp = timestamp_of(first)
        elif is_at_end:
            return 0.0
        elif self._clock() - noted_at > _SAMPLE_S:
            return None
        return None if timestamp is None else max(0.0, time.time() - timestamp / 1000)


def _known(offset: int) -> int | None:
    return offset if offset >= 0 else None
