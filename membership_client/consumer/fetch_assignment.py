"""What librdkafka fetches, kept in step with what the member owns.

All of this runs on the thread that runs the callback; poll() on other threads returns no record meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import confluent_kafka

from membership_client.consumer.callback_queue import Call
from membership_client.consumer.committer import Committer
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.consumer.settings import Settings
from membership_client.consumer.start_offsets import Starts
from membership_client.consumer.translate import ours, their_offset
from membership_client.errors import ConfigError, OffsetTimeoutError, TopicGoneError
from membership_client.runtime.listener import Callback
from membership_client.types import Offset, TopicPartition

logger = logging.getLogger("membership_client")

_LAST_COMMIT_S = 10.0
"""How long a revoke waits at most for its last commit, because the group waits for the revoke."""


class FetchAssignment:
    """The partitions that librdkafka fetches. `epochs` has the member epoch in which each was assigned."""

    def __init__(
        self, librdkafka: Librdkafka, pending: PendingOffsets, committer: Committer, settings: Settings
    ) -> None:
        self.epochs: dict[TopicPartition, int] = {}
        self.call: Call | None = None
        """The callback that is running now."""
        self._librdkafka = librdkafka
        self._pending = pending
        self._committer = committer
        self._start = settings.start
        self._keeps_failed = settings.member.callback_errors == "continue"
        self._starts: dict[TopicPartition, confluent_kafka.TopicPartition] = {}

    # --- the three callbacks -----------------------------------------------------------------------------------------

    def assigned(self, call: Call, starts: Starts | None, committed: Starts, hook: Callback) -> None:
        """Fetch the partitions, then run the callback, so that seek(), pause() and position() work in it.

        Their records are handed out after it. `starts` is None if the partitions are to be taken away before their offsets
        were known. Then, and if they were lost meanwhile, no record is read: a callback that takes them away follows.
        """
        partitions = call.wanted.partitions
        unread = starts is None or call.context.lost
        # Partitions that are not read need an offset, too, which may be any number: see start_offsets.py.
        unknown = Offset(0 if unread else self._start)
        self._starts = {p: their_offset(p, (starts or {}).get(p) or unknown) for p in partitions}
        self._librdkafka.incremental_assign(list(self._starts.values()))
        if unread:
            self._librdkafka.pause_read(partitions)
        self._pending.note_committed({p: offset for p, offset in committed.items() if offset is not None})
        self.epochs.update(dict.fromkeys(partitions, call.wanted.epoch))
        try:
            self._run(call, hook)
        except BaseException:
            if not self._keeps_failed:
                self._drop(partitions)  # The callback will be tried again, from the start.
            raise

    def revoked(self, call: Call, hook: Callback, *, commit: bool) -> None:
        """Hand out no more records, run the callback, commit what was read and not committed, and stop fetching.

        Nothing is committed if the callback raises: records that it could not finish must come again.
        """
        partitions = call.wanted.partitions
        self._librdkafka.pause_read(partitions)
        try:
            self._run(call, hook)
            if commit and not call.context.lost:
                self._commit(call)
        finally:
            self._drop(partitions)

    def lost(self, call: Call, hook: Callback) -> None:
        """Stop fetching, then run the callback. Nothing is committed, because other members may own the partitions already."""
        self._drop(call.wanted.partitions)
        self._run(call, hook)

    def _run(self, call: Call, hook: Callback) -> None:
        self.call = call
        try:
            hook(call.wanted.partitions, call.context)
        finally:
            self.call = None

    def _commit(self, call: Call) -> None:
        due = self._pending.last(call.wanted.partitions)
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

    def start_at(self, wanted: Iterable[confluent_kafka.TopicPartition]) -> None:
        """assign() or incremental_assign() while subscribed: start these partitions where the application says."""
        chosen = {TopicPartition(p.topic, p.partition): p for p in wanted}
        self._refuse_foreign(chosen)
        self._pending.forget_read(chosen)
        self._keep_read(chosen)
        self._librdkafka.move([self._chosen(partition, p) for partition, p in chosen.items()])

    def start_only_at(self, wanted: list[confluent_kafka.TopicPartition]) -> None:
        """Like `start_at`; partitions that are not named are not fetched."""
        self.start_at(wanted)
        self._stop(self._scope() - ours(wanted))

    def stop_fetching(self, wanted: Iterable[TopicPartition] | None = None) -> None:
        """unassign() or incremental_unassign() while subscribed; None means all partitions of the running callback, or all."""
        partitions = self._scope() if wanted is None else frozenset(wanted)
        self._refuse_foreign(partitions)
        self._stop(partitions)

    def _stop(self, partitions: Iterable[TopicPartition]) -> None:
        self._keep_read(partitions)
        self._librdkafka.stop(partitions)

    def _keep_read(self, partitions: Iterable[TopicPartition]) -> None:
        """Remember what was read of these, to commit it when they are revoked: librdkafka will have no position then."""
        self._pending.keep_read(self._librdkafka.assignment() & frozenset(partitions))

    def _chosen(
        self, partition: TopicPartition, wanted: confluent_kafka.TopicPartition
    ) -> confluent_kafka.TopicPartition:
        """Where each partition is to start. An offset that the application did not set means the committed one."""
        return wanted if _is_offset(wanted) else self._starts.get(partition, wanted)

    def _scope(self) -> frozenset[TopicPartition]:
        """Partitions that the application may assign now: those of the running callback, or outside of callbacks the owned ones."""
        return frozenset(self.epochs if self.call is None else self.call.wanted.partitions)

    def _refuse_foreign(self, partitions: Iterable[TopicPartition]) -> None:
        if foreign := sorted(frozenset(partitions) - self._scope()):
            subject = "This consumer does not own" if self.call is None else "This callback is not about"
            advice = "While subscribed, the group assigns; see unsubscribe()."
            raise ConfigError(f"{subject} {', '.join(map(str, foreign))}. {advice}")

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        self._librdkafka.drop(partitions)
        self._pending.forget(partitions)
        for partition in partitions:
            self.epochs.pop(partition, None)


def _is_offset(place: confluent_kafka.TopicPartition) -> bool:
    """Does it say where to start? If not, the committed offset is meant."""
    return place.offset not in {confluent_kafka.OFFSET_INVALID, confluent_kafka.OFFSET_STORED}
