"""What was read and is not yet committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import confluent_kafka

from membership_client.consumer.translate import ours_at, theirs
from membership_client.types import Offset, TopicPartition

Position = Callable[[list[confluent_kafka.TopicPartition]], list[confluent_kafka.TopicPartition]]


class Ledger:
    """Any thread; its methods are short and lean on the interpreter's lock for each dictionary operation.

    With automatic storing a record counts as read when poll() returned it: librdkafka keeps that position anyway, so it
    is read from there when a commit is due, and costs nothing per record.
    """

    def __init__(self, raw: confluent_kafka.Consumer, *, auto_store: bool) -> None:
        self.position: Position = raw.position
        """How far the application has read, by partition."""
        self._auto_store = auto_store
        self._stored: dict[TopicPartition, Offset] = {}
        self._committed: dict[TopicPartition, Offset] = {}

    def store(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._stored.update(offsets)

    def due(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        """What to commit of these, where it differs from what was committed last."""
        wanted = list(partitions)
        read = ours_at(self.position(theirs(wanted))) if self._auto_store else self._stored
        pairs = {partition: read[partition] for partition in wanted if partition in read}
        return {p: offset for p, offset in pairs.items() if self._committed.get(p) != offset}

    def note_committed(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._committed.update(offsets)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They are others' now."""
        for partition in partitions:
            self._stored.pop(partition, None)
            self._committed.pop(partition, None)
