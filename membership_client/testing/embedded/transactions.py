"""Producer ids and transactions, as the transaction coordinator stores them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.offsets import Offsets
from membership_client.testing.embedded.timers import Timer, Timers
from membership_client.testing.embedded.topics import Topics
from membership_client.types import TopicPartition

_LAST_EPOCH = 2**15 - 2


class TransactionState(enum.Enum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    COMMITTED = "CompleteCommit"
    ABORTED = "CompleteAbort"


@dataclass(slots=True, eq=False)
class Transaction:
    """The state of one transactional id."""

    producer_id: int
    epoch: int
    timeout_s: float
    state: TransactionState = TransactionState.EMPTY
    partitions: set[TopicPartition] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    timer: Timer | None = None


class Transactions:
    """All transactions. Not thread-safe. Methods return an error code, 0 for none."""

    def __init__(self, topics: Topics, offsets: Offsets, timers: Timers) -> None:
        self._topics = topics
        self._offsets = offsets
        self._timers = timers
        self._by_id: dict[str, Transaction] = {}
        self._by_producer: dict[int, Transaction] = {}
        self._last_producer_id = -1

    def new_producer_id(self) -> int:
        self._last_producer_id += 1
        return self._last_producer_id

    def begin_session(self, transactional_id: str, timeout_s: float) -> Transaction:
        """Start a producer under this id. An older producer is fenced, and its open transaction is aborted."""
        known = self._by_id.get(transactional_id)
        if known is None or known.epoch >= _LAST_EPOCH:
            known = self._by_id[transactional_id] = Transaction(self.new_producer_id(), -1, timeout_s)
            self._by_producer[known.producer_id] = known
        known.epoch += 1
        known.timeout_s = timeout_s
        if known.state is TransactionState.ONGOING:
            self._end(known, committed=False)
        known.state = TransactionState.EMPTY
        return known

    def find(self, transactional_id: str) -> Transaction | None:
        return self._by_id.get(transactional_id)

    def check(self, transactional_id: str, producer_id: int, epoch: int) -> int:
        """The error code of a producer that does not have the transactional id with this epoch; 0 for none."""
        known = self._by_id.get(transactional_id)
        if known is None or known.producer_id != producer_id:
            return BrokerCode.INVALID_PRODUCER_ID_MAPPING
        return 0 if known.epoch == epoch else BrokerCode.PRODUCER_FENCED

    def add(self, transactional_id: str, now: float, *, partitions: set[TopicPartition], groups: set[str]) -> None:
        """Add partitions to write to, and groups to commit for. The first one begins the transaction."""
        transaction = self._by_id[transactional_id]
        if transaction.state is not TransactionState.ONGOING:
            transaction.state = TransactionState.ONGOING
            transaction.timer = self._timers.at(now + transaction.timeout_s, lambda _: self._expire(transaction))
        transaction.partitions |= partitions
        transaction.groups |= groups

    def includes(self, producer_id: int, partition: TopicPartition) -> bool:
        """Whether this producer may write to that partition in its transaction."""
        known = self._by_producer.get(producer_id)
        return known is not None and known.state is TransactionState.ONGOING and partition in known.partitions

    def end(self, transactional_id: str, *, committed: bool) -> int:
        transaction = self._by_id[transactional_id]
        ended = TransactionState.COMMITTED if committed else TransactionState.ABORTED
        if transaction.state is ended:
            return 0  # The request was sent again, because its answer was lost.
        if transaction.state is not TransactionState.ONGOING:
            return BrokerCode.INVALID_TXN_STATE
        self._end(transaction, committed=committed)
        return 0

    def _expire(self, transaction: Transaction) -> None:
        """Abort a transaction that took too long, and fence its producer."""
        transaction.epoch += 1
        self._end(transaction, committed=False)

    def _end(self, transaction: Transaction, *, committed: bool) -> None:
        if transaction.timer is not None:
            transaction.timer.cancel()
        for topic, partition in sorted(transaction.partitions):
            found = self._topics.find(topic)
            log = None if found is None else self._topics.log(found, partition)
            if log is not None:
                log.end_transaction(transaction.producer_id, transaction.epoch, committed=committed)
        self._offsets.end_transaction(transaction.producer_id, committed=committed)
        transaction.partitions, transaction.groups, transaction.timer = set(), set(), None
        transaction.state = TransactionState.COMMITTED if committed else TransactionState.ABORTED
