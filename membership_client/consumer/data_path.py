"""What librdkafka fetches, kept in step with what the member owns.

Everything here runs on the thread that serves the desk, so no record is handed out while it runs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import confluent_kafka
from confluent_kafka import Message

from membership_client.consumer.committer import Committer
from membership_client.consumer.desk import Call
from membership_client.consumer.ledger import Ledger
from membership_client.consumer.settings import Settings
from membership_client.consumer.starts import Starts
from membership_client.consumer.translate import ours, partition_of, their_offset, theirs
from membership_client.core.events import CallbackKind
from membership_client.errors import ConfigError, OffsetTimeoutError, TopicGoneError
from membership_client.listener import Callback
from membership_client.types import Offset, TopicPartition

logger = logging.getLogger("membership_client")

_LAST_COMMIT_S = 10.0
"""How long a revoke waits for its own commit before it goes on without: the group waits for us."""


class DataPath:
    """`epochs` says since which member epoch each partition is fetched."""

    def __init__(self, raw: confluent_kafka.Consumer, ledger: Ledger, committer: Committer, settings: Settings) -> None:
        self.epochs: dict[TopicPartition, int] = {}
        self.call: Call | None = None
        """The callback that is running now."""
        self._raw = raw
        self._ledger = ledger
        self._committer = committer
        self._start = settings.start
        self._keeps_failed = settings.member.callback_errors == "continue"
        self._starts: dict[TopicPartition, confluent_kafka.TopicPartition] = {}

    # --- the three callbacks -----------------------------------------------------------------------------------------

    def assigned(self, call: Call, starts: Starts | None, hook: Callback) -> None:
        """Fetch first, so that seek(), pause() and position() work in the callback; records come after it.

        None stands for partitions that go again before anybody found out where to start. Of them nothing is read, and of
        those that were lost meanwhile neither: all wait for the callback that takes them away.
        """
        partitions = call.wanted.partitions
        unread = starts is None or call.context.lost
        # Any number will do for what is not read, and nothing but a number: see starts.py.
        unknown = Offset(0 if unread else self._start)
        self._starts = {p: their_offset(p, (starts or {}).get(p) or unknown) for p in partitions}
        self._raw.incremental_assign(list(self._starts.values()))
        if unread:
            self._raw.pause(self._raw.assignment())
        self.epochs.update(dict.fromkeys(partitions, call.wanted.epoch))
        try:
            self._run(call, hook)
        except BaseException:
            if not self._keeps_failed:
                self._drop(partitions)  # It will be tried again, from the start.
            raise

    def revoked(self, call: Call, hook: Callback, *, commit: bool) -> None:
        """Stop delivery, commit what was read, let the application finish, and only then let go."""
        partitions = call.wanted.partitions
        self._raw.pause(theirs(self._fetched(partitions)))
        try:
            if commit:
                self._commit(call)
            self._run(call, hook)
        finally:
            self._drop(partitions)

    def lost(self, call: Call, hook: Callback) -> None:
        """Others own them already: nothing is committed."""
        self._drop(call.wanted.partitions)
        self._run(call, hook)

    def _run(self, call: Call, hook: Callback) -> None:
        self.call = call
        try:
            hook(call.wanted.partitions, call.context)
        finally:
            self.call = None

    def _commit(self, call: Call) -> None:
        due = self._ledger.due(self._fetched(call.wanted.partitions))
        if not due:
            return
        left_s = call.context.remaining_s()
        try:
            error = self._committer.commit_and_wait(
                due, _LAST_COMMIT_S if left_s is None else min(left_s, _LAST_COMMIT_S)
            )
        except OffsetTimeoutError as late:
            error = late
        if isinstance(error, TopicGoneError):
            logger.info("Offsets of revoked partitions were not committed: their topic is gone: %s", error)
        elif error is not None:
            logger.warning("Offsets of revoked partitions were not committed; their records come again: %s", error)

    # --- what a callback may do about it -----------------------------------------------------------------------------

    def place(self, wanted: Iterable[confluent_kafka.TopicPartition]) -> None:
        """assign() or incremental_assign() in an assigned callback: start these where the application says."""
        call = self._running(CallbackKind.ASSIGNED, "assign")
        chosen = {TopicPartition(p.topic, p.partition): p for p in wanted}
        self._refuse_foreign(call, chosen)
        self.move({partition: self._chosen(partition, p) for partition, p in chosen.items()}.values())

    def place_only(self, wanted: list[confluent_kafka.TopicPartition]) -> None:
        """As `place`, and those that are not named are not fetched."""
        self.place(wanted)
        assert self.call is not None
        self._stop(frozenset(self.call.wanted.partitions) - ours(wanted))

    def let_go(self, wanted: Iterable[TopicPartition] | None = None) -> None:
        """unassign() or incremental_unassign() in a callback; None means all that it is about."""
        call = self._running(None, "unassign")
        partitions = frozenset(call.wanted.partitions if wanted is None else wanted)
        self._refuse_foreign(call, partitions)
        self._stop(partitions)

    def move(self, places: Iterable[confluent_kafka.TopicPartition]) -> None:
        """Fetch these from another offset. librdkafka's seek() needs a running fetcher; starting anew does not."""
        places = list(places)
        self._stop(ours(places))
        self._raw.incremental_assign(places)

    def take_back(self, records: Sequence[Message]) -> None:
        """Nobody has seen these: they are to be read again, as far as they are still ours to read."""
        firsts = {partition_of(record): record.offset() or 0 for record in reversed(records)}
        fetched = self._fetched(firsts)
        self.move(their_offset(partition, Offset(first)) for partition, first in firsts.items() if partition in fetched)

    def _chosen(
        self, partition: TopicPartition, wanted: confluent_kafka.TopicPartition
    ) -> confluent_kafka.TopicPartition:
        """An offset that was left alone means the committed one."""
        unset = wanted.offset in {confluent_kafka.OFFSET_INVALID, confluent_kafka.OFFSET_STORED}
        return self._starts[partition] if unset else wanted

    def _running(self, kind: CallbackKind | None, what: str) -> Call:
        call = self.call
        if call is None or (kind is not None and call.wanted.kind is not kind):
            raise ConfigError(
                f"While subscribed, the group assigns: {what}() works inside callbacks; see unsubscribe()."
            )
        return call

    def _refuse_foreign(self, call: Call, partitions: Iterable[TopicPartition]) -> None:
        if foreign := sorted(frozenset(partitions) - frozenset(call.wanted.partitions)):
            raise ConfigError(f"This callback is not about {', '.join(map(str, foreign))}.")

    # --- librdkafka's assignment -------------------------------------------------------------------------------------

    def _fetched(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        return ours(self._raw.assignment()) & frozenset(partitions)

    def _stop(self, partitions: Iterable[TopicPartition]) -> None:
        if fetched := self._fetched(partitions):
            self._raw.incremental_unassign(theirs(fetched))

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        # librdkafka remembers a pause until the partition comes back, and a resume of what is not assigned can block it.
        self._raw.resume(theirs(self._fetched(partitions)))
        self._stop(partitions)
        self._ledger.forget(partitions)
        for partition in partitions:
            self.epochs.pop(partition, None)
