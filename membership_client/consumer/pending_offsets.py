"""What was read and is not yet committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from membership_client.consumer.translate import Places, ours_at, theirs
from membership_client.types import Offset, TopicPartition

Position = Callable[[Places], Places]


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

    def store(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._stored.update(offsets)

    def due(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        """What to commit of these, where it is beyond what was committed last: a seek back is not committed, as in librdkafka."""
        return {p: offset for p, offset in self._read(partitions).items() if offset.offset > self._committed.get(p, -1)}

    def last(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        """What to commit of these before they are let go: after a seek back, where reading went on, as in librdkafka."""
        return {
            p: offset for p, offset in self._read(partitions).items() if offset.offset != self._committed.get(p, -1)
        }

    def _read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        wanted = list(partitions)
        read = {**self._stored, **self._positions(wanted)} if self._auto_store else self._stored
        return {partition: read[partition] for partition in wanted if partition in read}

    def keep_read(self, partitions: Iterable[TopicPartition]) -> None:
        """Before a seek, after which librdkafka has no position: what was read is still to be committed."""
        if self._auto_store:
            self._stored.update(self._positions(partitions))

    def _positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        return ours_at(self._position(theirs(partitions)))

    def note_committed(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        self._committed.update({partition: offset.offset for partition, offset in offsets.items()})

    def committed(self, partition: TopicPartition, default: int) -> int:
        """What the group has committed, as far as is known here."""
        return self._committed.get(partition, default)

    def stored(self, partition: TopicPartition, default: int) -> int:
        """What store_offsets() was given last."""
        found = self._stored.get(partition)
        return default if found is None else found.offset

    def doubt_committed(self, partitions: Iterable[TopicPartition]) -> None:
        """A commit of these is under way, and may be of another offset than was read."""
        for partition in partitions:
            self._committed.pop(partition, None)

    def forget_read(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """These, or all, are let go, or read from elsewhere. What was committed is known all the same."""
        for partition in tuple(self._stored) if partitions is None else partitions:
            self._stored.pop(partition, None)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget all about these: other members own them now."""
        gone = tuple(partitions)
        self.forget_read(gone)
        self.doubt_committed(gone)
