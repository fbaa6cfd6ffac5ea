"""What an application commits, in all the ways confluent-kafka has for it."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client.arguments import checked_offsets
from membership_client.client import GroupMember
from membership_client.consumer.arguments import checked_message, checked_places
from membership_client.consumer.committer import Commit, Committer, Offsets
from membership_client.consumer.kafka_errors import as_kafka_error, as_kafka_exception, as_kafka_exceptions
from membership_client.consumer.librdkafka import Librdkafka
from membership_client.consumer.pending_offsets import PendingOffsets
from membership_client.consumer.settings import Settings
from membership_client.consumer.translate import after, ours_at, theirs_at
from membership_client.errors import ConfigError, MembershipError, NotOwnedError
from membership_client.ownership import Ownership
from membership_client.types import TopicPartition

logger = logging.getLogger("membership_client")

PATIENCE_S = 60.0
"""How long a blocking commit, or a look at what was committed, tries before it gives up."""

Places = list[confluent_kafka.TopicPartition]


class Commits:
    """As the member while there is one; else through librdkafka, which commits as anybody may in an empty group."""

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
        """Has it called on a thread of the application's, inside poll()."""
        self._in_scope = in_scope
        """What a commit without arguments covers."""
        self._next_at = 0.0

    def commit(
        self, message: Message | None, offsets: Places | None, *, asynchronous: bool, as_member: bool
    ) -> Places | None:
        wanted = self._wanted(message, offsets)
        if not wanted:
            self._refuse_nothing(asynchronous=asynchronous)
        elif not as_member:
            return self._commit_as_anybody(wanted, asynchronous=asynchronous)
        elif asynchronous:
            self.committer.submit(Commit(wanted, functools.partial(self._on_outcome, wanted)))
        else:
            return self._commit_and_wait(wanted)
        return None

    def begin(
        self, message: Message | None, offsets: Places | None, done: Callable[[Places, MembershipError | None], None]
    ) -> None:
        """As a blocking commit() as the member, but `done` is told the outcome, on the committer's thread."""
        wanted = self._wanted(message, offsets)
        if not wanted:
            self._refuse_nothing(asynchronous=False)
        self.committer.submit(Commit(wanted, functools.partial(done, theirs_at(wanted))))

    def automatically(self, *, as_member: bool) -> None:
        """On the polling thread, with no record in hand: what poll() returned earlier is done by now."""
        if self.auto_commit_s is None or time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + self.auto_commit_s
        due = self.pending.due(self._in_scope())
        if due and as_member:
            self.committer.submit(Commit(due, functools.partial(self._on_outcome, due)))
        elif due:
            self._commit_as_anybody(due, asynchronous=True)

    def store(self, message: Message | None, offsets: Places | None) -> None:
        if self._settings.auto_store:
            raise as_kafka_exception(ConfigError("store_offsets() needs enable.auto.offset.store=false."))
        if message is None and offsets is None:
            raise as_kafka_exception(ConfigError("store_offsets() needs a message or offsets."))
        stored = self._wanted(message, offsets)
        if foreign := sorted(stored.keys() - self._librdkafka.assignment()):
            error = NotOwnedError(f"Not assigned: {', '.join(map(str, foreign))}.")
            raise as_kafka_exception(error, KafkaError._STATE)
        self.pending.store(stored)

    def report(self, error: KafkaError | None, offsets: Places) -> None:
        """To the application's on_commit, on a polling thread, or else to the log."""
        if (told := self._settings.on_commit) is not None:
            self._tell(functools.partial(told, error, offsets))
        elif error is not None and error.code() != KafkaError._NO_OFFSET:
            logger.warning("[%s] offsets were not committed: %s", self._settings.member.group_id, error.str())

    def report_of_librdkafka(self, error: KafkaError | None, offsets: Places) -> None:
        """The outcome of a commit without a subscription: what failed is still to be committed."""
        if error is None:
            self.pending.note_committed(ours_at(place for place in offsets if place.error is None))
        self.report(error, offsets)

    def commit_the_rest(self) -> None:
        """Before partitions are let go that no group assigned: what is due, if commits are automatic."""
        due = self.pending.due(self._in_scope()) if self.auto_commit_s is not None else {}
        if not due:
            return
        try:
            self._commit_as_anybody(due, asynchronous=False)
        except KafkaException as error:
            logger.warning("[%s] offsets were not committed: %s", self._settings.member.group_id, error)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _wanted(self, message: Message | None, offsets: Places | None) -> Offsets:
        if message is not None and offsets is not None:
            raise as_kafka_exception(ConfigError("Give a message or offsets, not both."))
        if message is not None:
            if (error := checked_message(message).error()) is not None:
                raise KafkaException(error)
            return after(message)
        return self._given(offsets) if offsets is not None else self.pending.due(self._in_scope())

    def _given(self, offsets: Places) -> Offsets:
        with as_kafka_exceptions():
            return checked_offsets(ours_at(checked_places(offsets)))

    def _refuse_nothing(self, *, asynchronous: bool) -> None:
        error = KafkaError(KafkaError._NO_OFFSET, "Nothing was read since the last commit.")
        if not asynchronous:
            raise KafkaException(error)
        self.report(error, [])

    def _commit_and_wait(self, wanted: Offsets) -> Places:
        with as_kafka_exceptions():
            if (error := self.committer.commit_and_wait(wanted, PATIENCE_S + 5.0)) is not None:
                raise error
        return theirs_at(wanted)

    def _commit_as_anybody(self, wanted: Offsets, *, asynchronous: bool) -> Places | None:
        places = theirs_at(wanted)
        with self._librdkafka.lock.calling():
            if asynchronous:
                self._raw.commit(offsets=places, asynchronous=True)
                return None
            committed = self._raw.commit(offsets=places, asynchronous=False)
        self.pending.note_committed(ours_at(place for place in committed if place.error is None))
        return committed

    def _commit_now(self, offsets: Offsets, ownership: Ownership) -> None:
        """On the committer's thread."""
        self._member._commit(checked_offsets(offsets), ownership, PATIENCE_S)
        self.pending.note_committed(offsets)

    def _on_outcome(self, offsets: Offsets, error: MembershipError | None) -> None:
        """On the committer's thread."""
        self.report(None if error is None else as_kafka_error(error), theirs_at(offsets))
