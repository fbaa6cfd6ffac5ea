"""Offsets of records that were read and are not committed yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from membership_client.consumer.translate import Places, ours_at, theirs
from membership_client.types import Offset, TopicPartition

Position = Callable[[Places], Places]


class PendingOffsets:
    """Any thread may use it, because each operation on a dictionary is atomic.

    With automatic storing a record counts as read when it was handed out. librdkafka and the buffer know that position, so
    it is looked up when a commit is due, and costs nothing per record.
    """

    def __init__(self, position: Position, *, auto_store: bool) -> None:
        self._position = position
        self._auto_store = auto_store
        self._stored: dict[TopicPartition, Offset] = {}
        self._committed: dict[TopicPartition, int] = {}

    def store(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._stored.update(offsets)

    def due(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        """The offsets to commit that are higher than those committed last: a seek back is not committed, as in librdkafka."""
        return {p: offset for p, offset in self._read(partitions).items() if offset.offset > self._committed.get(p, -1)}

    def last(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        """The offsets to commit before the partitions are given up: also lower ones after a seek back, as in librdkafka."""
        return {
            p: offset for p, offset in self._read(partitions).items() if offset.offset != self._committed.get(p, -1)
        }

    def _read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        wanted = list(partitions)
        read = {**self._stored, **self._positions(wanted)} if self._auto_store else self._stored
        return {partition: read[partition] for partition in wanted if partition in read}

    def keep_read(self, partitions: Iterable[TopicPartition]) -> None:
        """Remember what was read before a seek, after which librdkafka has no position: it is still to be committed."""
        if self._auto_store:
            self._stored.update(self._positions(partitions))

    def _positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        return ours_at(self._position(theirs(partitions)))

    def note_committed(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._committed.update({partition: offset.offset for partition, offset in offsets.items()})

    def committed(self, partition: TopicPartition, default: int) -> int:
        """The offset that the group has committed, as far as is known here."""
        return self._committed.get(partition, default)

    def stored(self, partition: TopicPartition, default: int) -> int:
        """The offset that store_offsets() was given last."""
        found = self._stored.get(partition)
        return default if found is None else found.offset

    def doubt_committed(self, partitions: Iterable[TopicPartition]) -> None:
        """Note that a commit of these is under way, perhaps of other offsets than were read."""
        for partition in partitions:
            self._committed.pop(partition, None)

    def forget_read(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Forget what was read of these, or of all: they are given up, or read from another offset. Committed offsets stay known."""
        for partition in tuple(self._stored) if partitions is None else partitions:
            self._stored.pop(partition, None)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget all about these: other members own them now."""
        gone = tuple(partitions)
        self.forget_read(gone)
        self.doubt_committed(gone)
