"""Consumer: a drop-in for confluent_kafka.Consumer whose membership is ours."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any, Self, cast

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client.arguments import checked_items, checked_mapping, checked_text
from membership_client.consumer.arguments import checked_places, checked_record, checked_signals, checked_wait
from membership_client.consumer.commits import PATIENCE_S, Places
from membership_client.consumer.hooks import Hook, hooks_of
from membership_client.consumer.kafka_errors import as_kafka_exception, as_kafka_exceptions
from membership_client.consumer.knock import is_knock
from membership_client.consumer.polling import Polling
from membership_client.consumer.settings import settings_of
from membership_client.consumer.topic_events import is_about_subscription
from membership_client.consumer.translate import group_metadata, ours, partition_of, theirs_at
from membership_client.consumer.watching import Checked, plain, watched
from membership_client.errors import ConfigError, MemberClosedError, MembershipError
from membership_client.forked import refuse_in_forked_children
from membership_client.listener import warned_of
from membership_client.types import CloseReport, Health, LeaveMode, Offset, Snapshot, TopicPartition

Record = Message | confluent_kafka.TopicPartition | TopicPartition
"""Whatever says which partition is meant."""

_SLICE_S = 0.2
"""Longest stay inside librdkafka's consume(), where nothing can be done because it has records in hand."""

_LONGEST_STAY_S = 2.0
"""Longest stay inside librdkafka's poll(), where callbacks can run but not raise."""

_CLOSE_S = 10.0
"""How long a close() without a timeout waits for commits that were submitted before it."""

_CLOSE_GRACE_S = 0.5
"""So much longer than it was told may a close take, for librdkafka's threads to end."""

_WATCHED_CALLS = 8
"""So many calls that bring records are watched every second, to learn who polls and with which timeouts."""


class Consumer(Checked):
    """Takes what confluent_kafka.Consumer takes, does what it does, and is in the group through a GroupMember.

    Callbacks run on the polling thread, inside poll(), consume() or close(). Heartbeats depend on none of them: a record
    may take as long as `max.poll.interval.ms` allows, or any time inside `hold()`. Errors are KafkaException and, at the
    same time, the type that says what happened. poll() is hardly more than confluent-kafka's own method; it also raises
    what a callback raised, and the fatal error once there is one.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        with as_kafka_exceptions():
            settings = settings_of({**checked_mapping("The configuration", config or {}), **more})
        super().__init__({**settings.fetcher, "on_commit": self._on_report})
        # The C methods, whatever this class makes of their names.
        self._raw = cast("confluent_kafka.Consumer", super(Checked, self))
        with as_kafka_exceptions():
            self._polling = Polling(self._raw, settings, self._watch)
        self._absence = self._polling.absence
        self._member = self._polling.member
        self._path = self._polling.path
        self._commits = self._polling.commits
        self._gathering = False
        self._credentials = threading.RLock()
        """So that fetching and membership end with the same ones."""
        self._stop_reason: str | None = None
        self._old_handlers: dict[signal.Signals, Any] = {}
        self._closed_by: int | None = None
        self._pid = os.getpid()
        self._longest_stay_s = min(_LONGEST_STAY_S, settings.member.max_poll_interval_ms / 4000)
        self._watch()
        refuse_in_forked_children(self, forked_error)

    # --- the group ---------------------------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str],
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        *,
        listener: object | None = None,
    ) -> None:
        """Join with these topics; those that begin with `^` are patterns, which the brokers evaluate.

        A callback takes the consumer and the partitions, and a CallbackContext if it has a third argument; a listener's
        methods take what RebalanceListener's take. Both are called with the change, not with the whole assignment.
        """
        with as_kafka_exceptions():
            names, regex = _subscription(topics)
        with (
            as_kafka_exceptions(),
            self._polling.hooked(hooks_of(self, on_assign, on_revoke, on_lost, listener)),
        ):
            if regex is None:
                self._member.subscribe(names)
            else:
                self._member.subscribe_pattern(regex)
        self._polling.wanted = True
        self._polling.desk.on_warning = warned_of(listener)
        self._polling.attendant.start()

    def unsubscribe(self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None) -> None:
        """Leave the group; its last callbacks run in the next poll()."""
        with as_kafka_exceptions():
            self._member._check_mode(leave)
        if not self._polling.subscribed:
            self._raw.unassign()
            return
        with as_kafka_exceptions():
            self._member.unsubscribe(leave, reason=reason)
        self._polling.wanted = False

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Have a classic group rebalance, and say why: it is in the broker's log. Under KIP-848 the brokers decide."""
        with as_kafka_exceptions():
            self._member.enforce_rebalance(reason)

    def memberid(self) -> str:
        return self._member.snapshot.member_id

    def consumer_group_metadata(self) -> bytes:
        """For a producer's send_offsets_to_transaction(): who we are at this moment, so that a zombie is refused."""
        return group_metadata(self._member.snapshot, as_member=self._polling.subscribed)

    @property
    def snapshot(self) -> Snapshot:
        """State, epoch, ownership, cause: the membership of this moment."""
        return self._member.snapshot

    def health(self) -> Health:
        """For liveness and readiness probes."""
        return self._member.health()

    def owner_epoch(self, record: Record) -> int | None:
        """The member epoch since which the record's partition is ours without a break; None if it is not ours now."""
        partition = partition_of(record)
        ours_now = self._member.epoch > 0 and self._member.owns(partition)
        return self._path.epochs.get(partition) if ours_now else None

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Another user or password (PLAIN, SCRAM), for fetching and for the membership. Any thread.

        New connections and sessions that are renewed use it; those that are open stay. ConfigError, which shows neither,
        if there is no password to replace. A member that was refused with the old one starts over with subscribe().
        """
        self._check_open()
        with as_kafka_exceptions(), self._credentials:
            self._member._set_sasl_credentials(username, password)
            self._polling.as_poller(lambda: self._raw.set_sasl_credentials(username, password))

    # --- records -----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Have the next calls of poll() and consume() look around. Any thread."""
        self._polling.time.look()
        self._watched_calls = _WATCHED_CALLS
        self.__class__ = watched(type(self))

    def _watched_poll(self, timeout: float = -1) -> Message | None:
        """poll() as it is now and then, and whenever something waits: a Python function that can look and raise."""
        timeout = checked_wait(timeout)
        with self._polling.time:
            self._polling.arrive()
            if not self._polling.await_certainty(timeout):
                return None
            if (event := self._polling.topic_events.take()) is not None:
                return event
            if not 0 <= timeout <= self._longest_stay_s:
                return self._patient_poll(timeout)
            message = self._raw.poll(timeout)
        if message is not None:  # Without records there is time to look, and a long wait may come next.
            self._watched_calls -= 1
            if self._watched_calls <= 0:
                self.__class__ = plain(type(self))
                self._polling.time.lose_sight()
        return message

    def _patient_poll(self, timeout: float) -> Message | None:
        """A long stay, in pieces: nothing can be raised out of librdkafka's own poll() before it ends."""
        deadline = float("inf") if timeout < 0 else time.monotonic() + timeout
        while True:
            message = self._raw.poll(min(self._longest_stay_s, max(0.0, deadline - time.monotonic())))
            if message is not None or time.monotonic() >= deadline:
                return message
            self._polling.look()
            if (event := self._polling.topic_events.take()) is not None:
                return event

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Up to that many records. Fewer before the timeout when a rebalance waits: it is let in between two calls."""
        timeout = checked_wait(timeout)
        while True:
            batch = self._consume_once(num_messages, timeout)
            if not batch or time.monotonic() < self._absence.until or self._may_hand_out(batch):
                return batch

    def _consume_once(self, num_messages: int, timeout: float) -> list[Message]:
        if self._watched_calls <= 0 and not self._polling.desk.waiting:
            return self._consume(num_messages, timeout)
        return self._watched_consume(num_messages, timeout)

    def _watched_consume(self, num_messages: int, timeout: float) -> list[Message]:
        with self._polling.time:
            self._polling.arrive()
            if not self._polling.await_certainty(timeout):
                return []
            if num_messages > 0 and (event := self._polling.topic_events.take()) is not None:
                return [event]
            batch = self._consume(num_messages, timeout)
        self._watched_calls -= 1
        if self._watched_calls <= 0:
            self._polling.time.lose_sight()
        return batch

    def _consume(self, num_messages: int, timeout: float) -> list[Message]:
        batch = self._gather(num_messages, timeout if 0 <= timeout <= _SLICE_S else _SLICE_S)
        if len(batch) >= num_messages or 0 <= timeout <= _SLICE_S:
            return batch
        return self._gather_more(batch, num_messages, timeout - _SLICE_S)

    def _gather_more(self, batch: list[Message], num_messages: int, timeout: float) -> list[Message]:
        """The rest of a long wait, in slices, as long as nothing waits for the records in hand to be done."""
        deadline = float("inf") if timeout < 0 else time.monotonic() + timeout
        while len(batch) < num_messages and (left_s := deadline - time.monotonic()) > 0:
            if not batch:
                self._polling.look()
            elif self._polling.desk.waiting:
                break
            batch += self._gather(num_messages - len(batch), min(_SLICE_S, left_s))
        return batch

    def _gather(self, count: int, timeout_s: float) -> list[Message]:
        self._gathering = True
        try:
            return self._raw.consume(count, timeout_s)
        finally:
            self._gathering = False

    def _may_hand_out(self, messages: list[Message]) -> bool:
        """If not, we were away: they are read again, once the coordinator has confirmed that they are ours."""
        if self._absence.look() or not (records := [message for message in messages if message.error() is None]):
            return True
        self._path.take_back(records)
        self._watch()
        return False

    def __iter__(self) -> Iterator[Message]:
        """Records for ever, or until a signal of stop_on_signals(). Errors that are not events are raised.

        A subscribed topic that does not exist is an event here: it may be created later, and the log names it.
        """
        while self._stop_reason is None:
            message = self.poll(_SLICE_S)
            if message is None:
                continue
            error = message.error()
            if error is None:
                yield message
            elif error.code() != KafkaError._PARTITION_EOF and not is_about_subscription(message):
                raise KafkaException(error)

    # --- assignment --------------------------------------------------------------------------------------------------

    def assign(self, partitions: Places) -> None:
        """In on_assign: start these there, and do not fetch the others. Without a subscription: as confluent-kafka."""
        self._check_open()
        if self._polling.subscribed:
            with as_kafka_exceptions():
                self._path.place_only(checked_places(partitions))
        else:
            self._raw.assign(partitions)
            self._polling.attendant.start()

    def incremental_assign(self, partitions: Places) -> None:
        """In on_assign: start these there. Without a subscription: as confluent-kafka."""
        self._check_open()
        if self._polling.subscribed:
            with as_kafka_exceptions():
                self._path.place(checked_places(partitions))
        else:
            self._raw.incremental_assign(partitions)
            self._polling.attendant.start()

    def unassign(self) -> None:
        """In a callback: stop fetching what it is about, which happens anyway. Else: as confluent-kafka."""
        self._check_open()
        if self._polling.subscribed:
            with as_kafka_exceptions():
                self._path.let_go()
        else:
            self._raw.unassign()

    def incremental_unassign(self, partitions: Places) -> None:
        """As unassign(), for these."""
        self._check_open()
        if self._polling.subscribed:
            with as_kafka_exceptions():
                self._path.let_go(ours(checked_places(partitions)))
        else:
            self._raw.incremental_unassign(partitions)

    def seek(self, partition: confluent_kafka.TopicPartition) -> None:
        """Works from on_assign on, also before the first record was fetched."""
        try:
            self._raw.seek(partition)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._STATE or not ours([partition]) <= ours(self._raw.assignment()):
                raise
            self._path.move([partition])

    # --- offsets -----------------------------------------------------------------------------------------------------

    def commit(  # type: ignore[override]  # one signature for the six overloads
        self, message: Message | None = None, offsets: Places | None = None, asynchronous: bool = True
    ) -> Places | None:
        """Commit the record, the offsets, or all that was read. NotOwnedError once the partition is others'."""
        self._check_open()
        return self._commits.commit(message, offsets, asynchronous=asynchronous, as_member=self._polling.subscribed)

    def store_offsets(self, message: Message | None = None, offsets: Places | None = None) -> None:
        """What the next commit() without arguments, or the next automatic one, commits."""
        self._check_open()
        self._commits.store(message, offsets)

    def committed(self, partitions: Places, timeout: float = -1) -> Places:
        timeout = checked_wait(timeout)
        if not self._polling.subscribed:
            return self._raw.committed(partitions, timeout)
        with as_kafka_exceptions():
            found = self._member.committed(
                ours(checked_places(partitions)), timeout_s=PATIENCE_S if timeout < 0 else timeout
            )
        nothing = Offset(confluent_kafka.OFFSET_INVALID)
        return theirs_at({p: found[p] or nothing for p in map(partition_of, partitions)})

    # --- long work ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def hold(self, *work: Record) -> Iterator[Self]:
        """Long work on these records' partitions (without any: on all) is under way, and is no reason to leave.

        The poll interval does not run. When the group wants partitions back, `revoke_pending` says so: end early, and
        leave the block; the callback runs there. A revoke of other partitions only does not wait: it runs at once, on
        another thread, and commits nothing by itself. Leaving the block says that the work is done.
        """
        with self._polling.hold(frozenset(map(partition_of, work)) if work else None):
            yield self

    def revoke_pending(self, record: Record) -> bool:
        """Does the group wait for us to give this partition up, or is it gone already? Any thread; cheap."""
        call = self._polling.desk.call
        if call is None:
            checked_record(record)  # What would be wrong in a rebalance is wrong before it.
            return False
        return call.takes_away(partition_of(record))

    # --- going -------------------------------------------------------------------------------------------------------

    def stop_on_signals(self, *signals: signal.Signals) -> Self:
        """Iteration ends after the record in hand when one of these comes (SIGTERM and SIGINT). Main thread only."""
        for number in checked_signals(signals) or (signal.SIGTERM, signal.SIGINT):
            self._old_handlers[number] = signal.signal(number, self._on_signal)
        return self

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signal.signal() calls it
        self._stop_reason = signal.Signals(number).name

    def close(  # type: ignore[override]  # the report is more than confluent-kafka's nothing
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        """Commit, give the partitions back, leave, and end: within `timeout_s` (10 s), and once. Any thread.

        Callbacks run on this thread, and what they take comes on top; what they raise is raised when all is done.
        The membership lasts for them, so they can commit: each for `max.poll.interval.ms`, as the group grants it.
        With a `timeout_s` their context's remaining_s() counts down to it.
        """
        if self._closed_by is not None or os.getpid() != self._pid:  # A forked child has none of librdkafka's threads.
            return self._member.close()
        if self._polling.desk.is_current_thread():
            raise as_kafka_exception(
                ConfigError("close() cannot end what it is called from: return from the callback.")
            )
        with as_kafka_exceptions():
            reason, timeout_s = self._member._close_arguments(leave, reason, timeout_s)
        within_s = _CLOSE_S if timeout_s is None else timeout_s
        deadline = time.monotonic() + within_s
        with contextlib.suppress(TimeoutError):
            self._commits.committer.commit_and_wait({}, within_s)  # What was submitted before goes first.
        left_s = None if timeout_s is None else max(0.0, deadline - time.monotonic())
        self._polling.desk.close_by = None if timeout_s is None else deadline
        try:
            return self._polling.as_poller(
                lambda: self._member.close(leave, reason=reason or self._stop_reason, timeout_s=left_s)
            )
        finally:
            self._end(deadline)

    def _end(self, deadline: float) -> None:
        self._closed_by = threading.get_ident()
        self._polling.attendant.stop()
        self._commits.committer.stop()
        self._restore_handlers()
        try:
            with contextlib.suppress(MembershipError):
                self._polling.desk.serve()
        finally:
            self._watch()  # Whoever polls learns it now.
            self._close_fetcher(deadline)

    def _restore_handlers(self) -> None:
        if threading.current_thread() is threading.main_thread():  # Python allows it nowhere else.
            for number, handler in self._old_handlers.items():
                signal.signal(number, handler)

    def _close_fetcher(self, deadline: float) -> None:
        """When nobody is inside any more; a poll() that does not come back is not waited for."""
        closing = threading.Thread(target=self._raw.close, name="closing-fetcher", daemon=True)
        closing.start()
        closing.join(max(_CLOSE_GRACE_S, deadline - time.monotonic()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """After an exception nothing more is committed automatically: the record that raised it must come again."""
        if kind is not None:
            self._commits.auto_commit_s = None
        self.close(reason=f"closed after an exception: {kind.__name__}" if kind else None)

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise forked_error(self)
        if self._closed_by is not None:
            raise as_kafka_exception(MemberClosedError("This consumer is closed."))

    # --- inside ------------------------------------------------------------------------------------------------------

    def _on_report(self, error: KafkaError | None, partitions: Places) -> None:
        """On the polling thread, from inside poll(): a knock, or the outcome of a commit without a subscription."""
        if not is_knock(error, partitions):
            self._commits.report(error, partitions)
        elif self._closed_by is None:
            self._polling.thread = threading.get_ident()
            self._polling.time.answered()
            self._polling.attendant.note_answer()
            self._polling.note_poll() if self._gathering else self._polling.look_from_within()


def forked_error(consumer: Consumer) -> MembershipError:
    """What all its methods raise in a forked child."""
    return as_kafka_exception(consumer._member._forked_error())


def _subscription(topics: Iterable[str]) -> tuple[Iterable[str], str | None]:
    """Names, or one pattern for all of them. librdkafka's patterns match a beginning, the brokers' match a whole name."""
    names = topics if isinstance(topics, str) else checked_items("topics", topics, checked_text)
    if isinstance(names, str) or not any(name.startswith("^") for name in names):
        return names, None
    return [], "|".join(_whole_name(name) for name in names)


def _whole_name(name: str) -> str:
    if not name.startswith("^"):
        return re.escape(name)
    return f"(?:{name})" if name.endswith("$") else f"(?:{name}).*"
