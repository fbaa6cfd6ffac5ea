"""Records that were read ahead of the application. Until they are handed out, nothing may count them as read."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress, islice
from time import monotonic

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

Place = tuple[str | None, int | None]
"""Topic and number, equal to a TopicPartition; None twice for an error that concerns no partition."""

_MOST_BYTES = 1 << 20
"""How much is read ahead at once, in addition to what librdkafka itself has fetched."""

_SAMPLE = 8
"""The number of records whose size is measured."""

_NOTE_TIMES: Place = (None, None)
"""This entry of `unread`, which is no partition, asks for the timestamps of the records that are read next."""

Reading = Callable[[int, float], list[Message]]
Test = Callable[[Message], bool]


class Buffer:
    """Records in a line for the application, and outside of the line those that are withheld or that consume() gathers.

    Any thread may call `take`, `take_where`, `put_back` and the methods of batches at any time. Only the thread that has the
    lock of librdkafka may call the others.

    Several threads may take records at the same time only if all of them call `take`. It is one atomic operation of a deque,
    so that poll() needs no lock. That is why no method takes records out at the left and puts them back later, or replaces
    the deque: another thread could take the next record meanwhile.
    """

    def __init__(self) -> None:
        self.line: deque[Message] = deque()
        """From outside used only to see whether it is empty, because `__len__` takes longer."""
        self._withheld: dict[Place, deque[Message]] = {}
        self.unread: set[Place] = set()
        """Partitions of which nothing was read since they were assigned or moved. From outside used only to see whether it is empty."""
        self._first_read: dict[Place, int] = {}
        """The offset of the first record that was read of each other partition."""
        self.timestamps: dict[Place, tuple[int, float]] = {}
        """For some partitions the timestamp in milliseconds of a record that was read lately, and when it was read."""
        self._batches: list[deque[Message]] = []
        """Records that calls of consume() gather. The application does not have them yet, so they count as not read."""
        self._moving = threading.RLock()
        """Held for moments: while records are taken out of the middle of the line, or go from there to a batch and back."""
        self.take: Callable[[], Message] = self.line.popleft
        """Take the next record out of the line. IndexError if there is none."""

    def __len__(self) -> int:
        """How many records can be taken."""
        return len(self.line)

    def read(self, reading: Reading, count: int, timeout_s: float) -> int:
        """Put the records that `reading(count, timeout_s)` returns at the end of the line, and return their number.

        This is one call of C code, so that an exception of a signal handler, such as KeyboardInterrupt, can only come after
        the records are in line. Between two operations it would lose them, although librdkafka has counted them as read.
        """
        before = len(self.line)
        if self.unread:
            self._read_noting(reading, count, timeout_s)
        else:
            self.line.extend(chain.from_iterable(map(reading, (count,), (timeout_s,))))
        if self._withheld:
            self.withhold(self._withheld)
        return len(self.line) - before

    def _read_noting(self, reading: Reading, count: int, timeout_s: float) -> None:
        """Like `read`, for partitions whose first record is not there yet."""
        arriving: list[Message] = []
        try:
            arriving.extend(chain.from_iterable(map(reading, (count,), (timeout_s,))))
            self.note_read(arriving)
        finally:
            self.line.extend(arriving)

    def restart(self, partitions: Iterable[Place]) -> None:
        """Note that these partitions are read from another offset from now on."""
        for place in partitions:
            self._first_read.pop(place, None)
            self.timestamps.pop(place, None)
            self.unread.add(place)

    def note_read(self, messages: Sequence[Message]) -> None:
        """Note the first records of partitions. To be called before the records are put in line or handed out."""
        if not self.unread or not messages:
            return
        # In C code, because all records come through here as long as one partition has none.
        places = list(zip(map(Message.topic, messages), map(Message.partition, messages), strict=True))
        if _NOTE_TIMES in self.unread:
            self.unread.discard(_NOTE_TIMES)
            self._note_timestamps(dict(zip(places, messages, strict=True)))
        for message in compress(messages, map(self.unread.__contains__, places)):
            if message.error() is None:
                self.unread.discard(place := place_of(message))
                self._first_read[place] = message.offset() or 0

    def note_timestamps(self) -> None:
        """Note the timestamps of the records that are read next. Any thread; the cost is added to the next read only."""
        self.unread.add(_NOTE_TIMES)

    def _note_timestamps(self, newest: dict[Place, Message]) -> None:
        now = monotonic()
        for place, message in newest.items():
            if message.error() is None and (timestamp := timestamp_of(message)) is not None:
                self.timestamps[place] = (timestamp, now)

    def take_where(self, count: int, wanted: Test, alone: Test) -> list[Message]:
        """Take up to `count` wanted records, wherever they are in line; a record that must be `alone` is returned alone."""
        with self._moving:
            wanted_ones = (found for found in enumerate(tuple(self.line)) if wanted(found[1]))
            found = list(islice(wanted_ones, count))
            ends = next((n for n, (_, message) in enumerate(found) if alone(message)), len(found))
            taken = found[: max(1, ends)]
            for at, _ in reversed(taken):
                del self.line[at]
        return [message for _, message in taken]

    # --- batches -----------------------------------------------------------------------------------------------------

    def open_batch(self) -> deque[Message]:
        """A batch for `fill`. Records of partitions that are withheld or dropped meanwhile leave it."""
        batch: deque[Message] = deque()
        with self._moving:
            self._batches.append(batch)
        return batch

    def fill(self, batch: deque[Message], count: int) -> None:
        """Take records into the batch until it has `count`, or none is left."""
        with self._moving, contextlib.suppress(IndexError):
            while len(batch) < count:
                batch.append(self.take())

    def give_back(self, batch: deque[Message]) -> None:
        """Put all records of the batch back, because they must not be handed out now."""
        with self._moving:
            self.put_back(batch)
            batch.clear()

    def close_batch(self, batch: deque[Message]) -> list[Message]:
        """The records of the batch, which count as read from now on: the application gets them."""
        with self._moving:
            self._batches = [one for one in self._batches if one is not batch]
            return list(batch)

    # --- the line ----------------------------------------------------------------------------------------------------

    def count_where(self, wanted: Test) -> int:
        return sum(map(wanted, tuple(self.line)))

    def counts(self) -> Counter[Place]:
        """How many are in line, by partition."""
        return Counter(map(place_of, tuple(self.line)))

    def put(self, messages: Iterable[Message]) -> None:
        """Put the messages at the end of the line."""
        self.line.extend(messages)

    def put_back(self, messages: Iterable[Message]) -> None:
        """Put messages that were taken, and not handed out, before those that are in line or withheld."""
        with self._moving:
            kept: list[Message] = []
            for message in reversed(list(messages)):
                withheld = self._withheld.get(place_of(message))
                kept.append(message) if withheld is None else withheld.appendleft(message)
            self.line.extendleft(kept)

    def withhold(self, partitions: Iterable[Place]) -> None:
        """Keep the records of these partitions, but hand none out until the partitions are released or dropped."""
        for place in partitions:
            self._withheld.setdefault(place, deque())
        kept: deque[Message] = deque()
        with self._moving:
            for batch in self._batches:
                self._withhold_of(batch)
            for message in self._drained():
                self._withheld.get(place_of(message), kept).append(message)
            self.line.extend(kept)

    def _withhold_of(self, batch: deque[Message]) -> None:
        """Withhold records of a batch, before those that are withheld already, because their offsets are lower."""
        if gone := [message for message in batch if place_of(message) in self._withheld]:
            stay = [message for message in batch if place_of(message) not in self._withheld]
            self.put_back(gone)
            batch.clear()
            batch.extend(stay)

    def release(self, partitions: Iterable[Place]) -> None:
        """Put the records of these partitions, in their order, before those that are in line."""
        with self._moving:
            for place in partitions:
                self.put_back(tuple(self._withheld.pop(place, ())))

    def drop(self, partitions: Iterable[Place]) -> None:
        """Drop the records of these partitions: other members own them now, or they are read from another offset."""
        self.withhold(gone := frozenset(partitions))
        for place in gone:
            self._withheld.pop(place, None)
            self._first_read.pop(place, None)
            self.timestamps.pop(place, None)
            self.unread.discard(place)

    def clear(self) -> None:
        with self._moving:
            self.line.clear()
            for batch in self._batches:
                batch.clear()
            for one in (self._withheld, self.unread, self._first_read, self.timestamps):
                one.clear()

    def positions(self) -> dict[Place, int | None]:
        """By partition with records that wait: the offset of the first of them, or None if none was handed out before it."""
        firsts = {place: message.offset() or 0 for place, message in self.next_ones().items()}
        return {place: None if self._first_read.get(place) == first else first for place, first in firsts.items()}

    def next_ones(self) -> dict[Place, Message]:
        """By partition, the first record that waits."""
        with self._moving:
            waiting = [*chain.from_iterable((*self._withheld.values(), *self._batches)), *tuple(self.line)]
        firsts: dict[Place, Message] = {}
        for message in waiting:
            if message.error() is None:
                known = firsts.setdefault(place_of(message), message)
                if (message.offset() or 0) < (known.offset() or 0):
                    firsts[place_of(message)] = message
        return firsts

    def next_ahead(self, ahead: int, most: int) -> int:
        """How many records to read ahead next: about a megabyte by the size of the newest ones, and at most four times `ahead`."""
        if not (sample := self.newest(_SAMPLE)):
            return ahead
        bytes_each = 1 + sum(map(len, sample)) / len(sample)
        return max(1, min(most, 4 * ahead, int(_MOST_BYTES / bytes_each)))

    def newest(self, count: int) -> list[Message]:
        """Up to `count` of the records that were read last."""
        return list(islice(reversed(self.line), count))

    def _drained(self) -> list[Message]:
        """Take all records out of the line, from the right: a thread that takes meanwhile gets records in their order."""
        taken: list[Message] = []
        with contextlib.suppress(IndexError):
            taken.extend(iter(self.line.pop, None))
        return taken[::-1]


def timestamp_of(message: Message) -> int | None:
    """The record's timestamp in milliseconds since 1970; None if it has none."""
    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else milliseconds


def place_of(message: Message) -> Place:
    return (message.topic(), message.partition())
