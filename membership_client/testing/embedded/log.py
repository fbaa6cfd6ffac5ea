"""One partition: its batches in their order, their producers, and the open and aborted transactions."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.records import Batch, CorruptRecordsError, end_marker, split

_REMEMBERED_BATCHES = 5
"""How many batches an idempotent producer may have under way. If one of the last batches comes again, it is a repetition."""
_MOST_PRODUCERS = 10_000
_BASE = attrgetter("base_offset")


class Appended(NamedTuple):
    """The result of an append: `code` is 0 and `offset` that of the first record, or `code` is an error code."""

    code: int
    offset: int = -1


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int


class _Sent(NamedTuple):
    first_sequence: int
    last_sequence: int
    offset: int


@dataclass(slots=True)
class _Producer:
    epoch: int
    sent: deque[_Sent] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_BATCHES))


class PartitionLog:
    """One partition. Not thread-safe. `watchers` are called after every change of the readable records."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.size = 0
        """The size in bytes."""
        self.aborted: list[AbortedTransaction] = []
        self.watchers: set[Callable[[], None]] = set()
        self._batches: list[Batch] = []
        self._producers: OrderedDict[int, _Producer] = OrderedDict()
        self._open: dict[int, int] = {}
        """The first offset of each open transaction, by producer id."""

    @property
    def stable_end(self) -> int:
        """The last stable offset: all transactions before it have ended."""
        return min(self._open.values(), default=self.end)

    # --- writing -----------------------------------------------------------------------------------------------------

    def append(self, records: bytes | None) -> Appended:
        """Append what a producer sent. A batch that it sent before is not stored again."""
        try:
            batches = split(records or b"")
        except CorruptRecordsError:
            return Appended(BrokerCode.CORRUPT_MESSAGE)
        if len(batches) != 1 or batches[0].is_control:
            return Appended(BrokerCode.INVALID_RECORD)
        batch = batches[0]
        if batch.producer_id < 0:
            return Appended(0, self._keep(batch))
        return self._known(batch) or self._append_of(batch)

    def _known(self, batch: Batch) -> Appended | None:
        """The answer to a batch that is a repetition or out of order; None for the next batch."""
        producer = self._producers.get(batch.producer_id)
        if producer is None:
            return None
        if batch.producer_epoch < producer.epoch:
            return Appended(BrokerCode.INVALID_PRODUCER_EPOCH)
        if batch.producer_epoch > producer.epoch or not producer.sent:
            return Appended(BrokerCode.OUT_OF_ORDER_SEQUENCE_NUMBER) if batch.sequence else None
        for sent in producer.sent:
            if (sent.first_sequence, sent.last_sequence) == (batch.sequence, batch.last_sequence):
                return Appended(0, sent.offset)
        expected = (producer.sent[-1].last_sequence + 1) & 0x7FFFFFFF
        return None if batch.sequence == expected else Appended(BrokerCode.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def _append_of(self, batch: Batch) -> Appended:
        producer = self._producers.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            producer = self._producers[batch.producer_id] = _Producer(batch.producer_epoch)
        self._producers.move_to_end(batch.producer_id)
        if len(self._producers) > _MOST_PRODUCERS:
            self._producers.popitem(last=False)
        if batch.is_transactional:
            self._open.setdefault(batch.producer_id, self.end)
        offset = self._keep(batch)
        producer.sent.append(_Sent(batch.sequence, batch.last_sequence, offset))
        return Appended(0, offset)

    def _keep(self, batch: Batch) -> int:
        kept = batch.at(self.end)
        self._batches.append(kept)
        self.size += len(kept.data)
        self.end = kept.next_offset
        self._tell()
        return kept.base_offset

    def end_transaction(self, producer_id: int, epoch: int, *, committed: bool) -> None:
        """Write the marker of a transaction's end. Records of an aborted transaction stay, and readers are told to skip them."""
        first = self._open.pop(producer_id, None)
        timestamp = self._batches[-1].max_timestamp if self._batches else -1
        marker = self._keep(end_marker(producer_id, epoch, timestamp, committed=committed))
        known = self._producers.get(producer_id)
        if known is None or known.epoch != epoch:
            # From now on batches of a fenced producer are refused.
            self._producers[producer_id] = _Producer(epoch)
        if not committed and first is not None:
            self.aborted.append(AbortedTransaction(producer_id, first, marker))

    def _tell(self) -> None:
        for watcher in tuple(self.watchers):
            watcher()

    # --- forgetting --------------------------------------------------------------------------------------------------

    def drop_oldest(self) -> None:
        """Forget the first batch."""
        self.delete_before(self._batches[0].next_offset)

    def delete_before(self, offset: int) -> None:
        """Make records before that offset unreadable. Only whole batches are deleted."""
        self.start = max(self.start, offset)
        gone = bisect_right(self._batches, self.start, key=attrgetter("next_offset"))
        self.size -= sum(len(batch.data) for batch in self._batches[:gone])
        del self._batches[:gone]
        self.aborted = [each for each in self.aborted if each.last_offset >= self.start]

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, offset: int, most_bytes: int, *, before: int, at_least_one: bool) -> list[bytes]:
        """Whole batches from the one with that offset, up to `before` and `most_bytes`. The first batch may be larger."""
        found: list[bytes] = []
        room = most_bytes
        for batch in self._from(offset, before):
            room -= len(batch.data)
            if room < 0 and not (at_least_one and not found):
                break
            found.append(batch.data)
        return found

    def bytes_after(self, offset: int, *, before: int, enough: int) -> int:
        """How many bytes can be read, counted up to `enough`."""
        total = 0
        for batch in self._from(offset, before):
            total += len(batch.data)
            if total >= enough:
                break
        return total

    def _from(self, offset: int, before: int) -> Iterator[Batch]:
        index = max(0, bisect_right(self._batches, offset, key=_BASE) - 1)
        for number in range(index, len(self._batches)):
            batch = self._batches[number]
            if batch.base_offset >= before:
                return
            if batch.next_offset > offset:
                yield batch

    def aborted_between(self, offset: int, before: int) -> list[AbortedTransaction]:
        return [each for each in self.aborted if each.last_offset >= offset and each.first_offset < before]

    def first_since(self, timestamp: int) -> tuple[int, int] | None:
        """Offset and timestamp of the first record that is not older; None if all records are older."""
        for batch in self._batches:
            if batch.max_timestamp >= timestamp:
                return batch.first_since(timestamp)
        return None

    def newest(self) -> tuple[int, int] | None:
        """Offset and timestamp of the first record with the greatest timestamp; None without records."""
        if not self._batches:
            return None
        batch = max(self._batches, key=attrgetter("max_timestamp"))
        return batch.first_since(batch.max_timestamp)
