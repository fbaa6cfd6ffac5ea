"""What was read and is not yet committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import confluent_kafka

from membership_client.consumer.translate import ours_at, theirs
from membership_client.types import Offset, TopicPartition

Position = Callable[[list[confluent_kafka.TopicPartition]], list[confluent_kafka.TopicPartition]]


class PendingOffsets:
    """Any thread; its methods are short and lean on the interpreter's lock for each dictionary operation.

    With automatic storing a record counts as read when it was handed out: that position is known anyway, so it is looked
    up when a commit is due, and costs nothing per record.
    """

    def __init__(self, position: Position, *, auto_store: bool) -> None:
        self._position = position
        self._auto_store = auto_store
        self._stored: dict[TopicPartition, Offset] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._never: set[TopicPartition] = set()
        """Of those above: what is noted is only where they start, for nothing was committed yet."""

    def store(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._stored.update(offsets)

    def due(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        """What to commit of these, where it is beyond what was committed last: a seek back is not committed, as in librdkafka."""
        wanted = list(partitions)
        read = ours_at(self._position(theirs(wanted))) if self._auto_store else self._stored
        pairs = {partition: read[partition] for partition in wanted if partition in read}
        return {p: offset for p, offset in pairs.items() if offset.offset > self._committed.get(p, -1)}

    def note_committed(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._committed.update({partition: offset.offset for partition, offset in offsets.items()})
        self._never.difference_update(offsets)

    def note_starts(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        """Nothing before these is to be committed, whether or not they were."""
        self._committed.update({partition: offset.offset for partition, offset in offsets.items()})

    def note_never_committed(self, partitions: Iterable[TopicPartition]) -> None:
        self._never.update(partitions)

    def committed(self, partition: TopicPartition, default: int) -> int:
        """What the group has committed, as far as is known here."""
        return default if partition in self._never else self._committed.get(partition, default)

    def stored(self, partition: TopicPartition, default: int) -> int:
        """What store_offsets() was given last."""
        found = self._stored.get(partition)
        return default if found is None else found.offset

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They are others' now."""
        for partition in partitions:
            self._stored.pop(partition, None)
            self._committed.pop(partition, None)
            self._never.discard(partition)
