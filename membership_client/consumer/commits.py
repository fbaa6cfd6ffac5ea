"""Commits of the application, in all the ways that confluent-kafka has, and automatic commits."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterable

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client.arguments import checked_offsets
from membership_client.client import GroupMember
from membership_client.consumer.arguments import checked_message, checked_places
from membership_client.consumer.committer import Commit, Committer, Offsets
from membership_client.consumer.kafka_errors import as_kafka_error, as_kafka_exception, as_kafka_exceptions, refusal
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.consumer.settings import Settings
from membership_client.consumer.translate import Places, after, ours_at, theirs, theirs_at
from membership_client.errors import ConfigError, MembershipError, NotOwnedError
from membership_client.runtime.ownership import Ownership
from membership_client.types import TopicPartition

logger = logging.getLogger("membership_client")

PATIENCE_S = 60.0
"""How long a blocking commit, or a request for committed offsets, is repeated before it fails."""


class Commits:
    """Commits as the member while subscribed; else through librdkafka without a member id, which an empty group accepts."""

    def __init__(
        self,
        raw: confluent_kafka.Consumer,
        librdkafka: Librdkafka,
        member: GroupMember,
        settings: Settings,
        *,
        tell: Callable[[Callable[[], None]], None],
        in_scope: Callable[[], frozenset[TopicPartition]],
    ) -> None:
        self.auto_commit_s = settings.auto_commit_s
        """Seconds between automatic commits; None stops them."""
        self.pending = PendingOffsets(librdkafka.position, auto_store=settings.auto_store)
        self.committer = Committer(self._commit_now, member._ownership_of, f"{settings.member.group_id}-commits")
        self._raw = raw
        self._librdkafka = librdkafka
        self._member = member
        self._settings = settings
        self._tell = tell
        """Calls a function on a thread of the application, inside poll()."""
        self._in_scope = in_scope
        """The partitions that a commit without arguments covers."""
        self._next_at = 0.0

    def commit(
        self, message: Message | None, offsets: Places | None, *, asynchronous: bool, as_member: bool
    ) -> Places | None:
        wanted = self._wanted(message, offsets)
        told = self._told(wanted, everything=message is None and offsets is None)
        if asynchronous:
            self.pending.doubt_committed(wanted)
        if not wanted:
            self._refuse_empty_commit(asynchronous=asynchronous)
        elif not as_member:
            return self._commit_without_member(told, asynchronous=asynchronous)
        elif asynchronous:
            self.committer.submit(Commit(wanted, functools.partial(self._on_outcome, told)))
        else:
            self._commit_and_wait(wanted)
            return told
        return None

    def _told(self, wanted: Offsets, *, everything: bool) -> Places:
        """The partitions in the report to the application. A commit of everything also names those without a new offset."""
        rest = self._in_scope() - wanted.keys() if everything else ()
        return [*theirs_at(wanted), *theirs(sorted(rest))]

    def begin(
        self, message: Message | None, offsets: Places | None, done: Callable[[Places, MembershipError | None], None]
    ) -> None:
        """Like a blocking commit() of the member, but `done` is called with the outcome on the committer's thread."""
        wanted = self._wanted(message, offsets)
        if not wanted:
            self._refuse_empty_commit(asynchronous=False)
        self.committer.submit(Commit(wanted, functools.partial(done, theirs_at(wanted))))

    def commit_if_due(self, *, as_member: bool) -> None:
        """Commit if it is time. Called on the polling thread between two records: those that poll() returned are done."""
        if self.auto_commit_s is None or time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + self.auto_commit_s
        due = self.pending.due(self._in_scope())
        if due and as_member:
            self.committer.submit(Commit(due, functools.partial(self._on_outcome, self._told(due, everything=True))))
        elif due:
            self._commit_without_member(self._told(due, everything=True), asynchronous=True)

    def store(self, message: Message | None, offsets: Places | None) -> None:
        if message is None and offsets is None:
            raise as_kafka_exception(ConfigError("store_offsets(): expected either message or offsets."))
        stored = self._wanted(message, offsets)
        if self._settings.auto_store:
            raise as_kafka_exception(ConfigError("store_offsets() needs enable.auto.offset.store=false."))
        if foreign := sorted(stored.keys() - self._librdkafka.assignment()):
            error = NotOwnedError(f"Not assigned: {', '.join(map(str, foreign))}.")
            raise as_kafka_exception(error, self._code_of_unassigned({place: stored[place] for place in foreign}))
        self.pending.store(stored)

    def _code_of_unassigned(self, offsets: Offsets) -> int:
        """The code of librdkafka: it differs for partitions that were assigned before and for those that never were."""
        try:
            self._librdkafka.call(functools.partial(self._raw.store_offsets, offsets=theirs_at(offsets)))
        except KafkaException as error:
            return int(error.args[0].code())
        return KafkaError._STATE

    def report(self, error: KafkaError | None, offsets: Places) -> None:
        """Tell the outcome to the application's on_commit, on a polling thread; without on_commit log an error."""
        if (told := self._settings.on_commit) is not None:
            self._tell(functools.partial(told, error, offsets))
        elif error is not None and error.code() != KafkaError._NO_OFFSET:
            logger.warning("[%s] offsets were not committed: %s", self._settings.member.group_id, error.str())

    def report_of_librdkafka(self, error: KafkaError | None, offsets: Places) -> None:
        """Tell the outcome of a commit without a subscription. Offsets that were not committed stay due."""
        if error is None:
            self.pending.note_committed(ours_at(place for place in offsets if place.error is None))
        self.report(error, offsets)

    def commit_the_rest(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Commit what was read of these partitions, or of all, if commits are automatic. For partitions given to assign()."""
        going = self._in_scope() if partitions is None else partitions
        due = self.pending.last(going) if self.auto_commit_s is not None else {}
        if not due:
            return
        try:
            self._commit_without_member(theirs_at(due), asynchronous=False)
        except KafkaException as error:
            logger.warning("[%s] offsets were not committed: %s", self._settings.member.group_id, error)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _wanted(self, message: Message | None, offsets: Places | None) -> Offsets:
        if message is not None and offsets is not None:
            raise as_kafka_exception(ConfigError("message and offsets are mutually exclusive: give one of them."))
        if message is not None:
            return self._after(checked_message(message))
        return self._given(offsets) if offsets is not None else self.pending.due(self._in_scope())

    def _after(self, message: Message) -> Offsets:
        if (error := message.error()) is not None:
            raise refusal(
                f"This message is an error and no record, so it has no offset to commit or store: {error.str()}."
            )
        return {} if message.offset() is None else after(message)

    def _given(self, offsets: Places) -> Offsets:
        with as_kafka_exceptions():
            return checked_offsets(ours_at(checked_places(offsets)))

    def _refuse_empty_commit(self, *, asynchronous: bool) -> None:
        error = KafkaError(KafkaError._NO_OFFSET, "Nothing was read since the last commit.")
        if not asynchronous:
            raise KafkaException(error)
        self.report(error, theirs(sorted(self._in_scope())))

    def _commit_and_wait(self, wanted: Offsets) -> None:
        with as_kafka_exceptions():
            if (error := self.committer.commit_and_wait(wanted, PATIENCE_S + 5.0)) is not None:
                raise error

    def _commit_without_member(self, places: Places, *, asynchronous: bool) -> Places | None:
        with self._librdkafka.lock.calling():
            if asynchronous:
                self._raw.commit(offsets=places, asynchronous=True)
                return None
            committed = self._raw.commit(offsets=places, asynchronous=False)
        self.pending.note_committed(ours_at(place for place in committed if place.error is None))
        return committed

    def _commit_now(self, offsets: Offsets, ownership: Ownership) -> None:
        """Commit and wait for the coordinator. Called on the committer's thread."""
        self._member._commit(checked_offsets(offsets), ownership, PATIENCE_S)
        self.pending.note_committed(offsets)

    def _on_outcome(self, told: Places, error: MembershipError | None) -> None:
        """Report the outcome of an asynchronous commit. Called on the committer's thread."""
        self.report(None if error is None else as_kafka_error(error), told)
