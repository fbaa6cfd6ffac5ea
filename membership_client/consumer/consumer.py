"""Consumer: a drop-in for confluent_kafka.Consumer that is in its group through a GroupMember."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, Self, cast

import confluent_kafka
from confluent_kafka import KafkaError, Message

from membership_client.arguments import checked_mapping, checked_pattern, checked_topic
from membership_client.consumer.arguments import (
    as_place,
    as_places,
    checked_places,
    checked_record,
    checked_signals,
    checked_topics,
    checked_wait,
)
from membership_client.consumer.bridge import Action, Phase
from membership_client.consumer.commits import PATIENCE_S
from membership_client.consumer.handing_out import HandingOut
from membership_client.consumer.hooks import Hook, hooks_of
from membership_client.consumer.kafka_errors import as_kafka_exception, as_kafka_exceptions, refusal
from membership_client.consumer.librdkafka import Reports
from membership_client.consumer.runtime import Runtime
from membership_client.consumer.settings import settings_of
from membership_client.consumer.translate import Places, group_metadata, ours, partition_of, theirs, theirs_at
from membership_client.core import reasons
from membership_client.core.events import CallbackKind, Subscribe
from membership_client.errors import MembershipError
from membership_client.rebalance_report import RebalanceReport
from membership_client.runtime.forked import refuse_in_forked_children
from membership_client.runtime.listener import Callback, warned_of
from membership_client.trace import Journal
from membership_client.types import (
    CloseReport,
    CloseStep,
    GroupProtocol,
    Health,
    LeaveMode,
    MemberState,
    Offset,
    Progress,
    Snapshot,
    TopicPartition,
)

Record = Message | confluent_kafka.TopicPartition | TopicPartition
"""A record, or a partition as either library writes it."""

_GIVE_BACK_S = 0.01
"""How often unsubscribe() checks whether the partitions are given back."""

_LEAVE_S = 1.0
"""How long an unsubscribe() waits for the coordinator's answer."""

_CLOSE_S = 10.0
"""How long a close() without a timeout waits for commits that were submitted before it."""

_CLOSE_GRACE_S = 0.5
"""close() may take this much longer than its timeout, for librdkafka's threads to end."""


class _WithLock:
    """confluent-kafka's method of the same name, called with the lock of librdkafka. Takes partitions of either library."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, consumer: Consumer | None, owner: type) -> Callable[..., Any]:
        if consumer is None:
            return getattr(confluent_kafka.Consumer, self._name)  # type: ignore[no-any-return]
        return functools.partial(_call, consumer, getattr(consumer._raw, self._name))


def _call(consumer: Consumer, method: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    consumer._check_open()
    places = [as_places(as_place(one)) for one in arguments]
    return consumer._librdkafka.call(functools.partial(method, *places, **more))


class Consumer(HandingOut, confluent_kafka.Consumer):
    """Takes what confluent_kafka.Consumer takes, does what it does, and is in the group through a GroupMember.

        with Consumer({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as consumer:
            consumer.subscribe(["orders"], on_revoke=lambda consumer, partitions: consumer.commit())
            message = consumer.poll(1.0)
            print(consumer.explain())

    Callbacks run on a polling thread, inside poll(), consume(), unsubscribe() or close(). Heartbeats depend on none of
    them: a record may take as long as `max.poll.interval.ms` allows, or any time inside `hold()`. Errors are KafkaException
    and, at the same time, the type that says what happened. Several threads may share a consumer.

    Records are read ahead into a buffer. Until they are handed out they count as not read: for position(), for commits, and
    for the next owner of the partition.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        if config is None and not more:
            raise refusal("expected configuration dict: Consumer({...})", TypeError)
        with as_kafka_exceptions():
            settings = settings_of({**checked_mapping("The configuration", {} if config is None else config), **more})
        reports = Reports()
        super().__init__({**reports.wrapped(settings.fetcher), "on_commit": self._on_report})
        # The methods of the C class, which this class overrides.
        self._raw = cast("confluent_kafka.Consumer", super(HandingOut, self))
        with as_kafka_exceptions():
            self._runtime = Runtime(self._raw, settings, reports, self._close_as_asked)
        self._member = self._runtime.member
        self._librdkafka = self._runtime.librdkafka
        self._commits = self._runtime.commits
        self._hand_out(self._librdkafka, self._runtime.queue, self._runtime.loop)
        self._credentials = threading.RLock()
        """Held while credentials are replaced, so that fetching and membership use the same ones afterwards."""
        self._old_handlers: dict[signal.Signals, Any] = {}
        self._subscription: frozenset[str] = frozenset()
        self._asked_close: Callable[[], CloseReport] | None = None
        """The first close() with its arguments. It may be carried out later, on another thread."""
        self._pid = os.getpid()
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
        An assignment of the application's own ends first, as unassign() ends it.
        """
        self._check_open()
        given = checked_topics(topics)
        with as_kafka_exceptions():
            hooks = hooks_of(self, on_assign, on_revoke, on_lost, listener)
            patterns = _with_patterns(given)
        # Only after all checks, because a call that is refused must leave the assignment as it was.
        if not self._runtime.group_assigns and self._librdkafka.assignment():
            self.unassign()
        with as_kafka_exceptions(), self._hooked(hooks):
            if any(name.startswith("^") for name in given):
                self._member._subscribe(patterns)
            else:
                self._member.subscribe(given)
        self._runtime.wanted = True
        self._subscription = frozenset(given)
        self._queue.on_warning = warned_of(listener)

    def subscription(self) -> frozenset[str]:
        """The topics and patterns that were subscribed to; none after unsubscribe()."""
        return self._subscription if self._runtime.wanted else frozenset()

    @contextlib.contextmanager
    def _hooked(self, hooks: dict[CallbackKind, Callback]) -> Iterator[None]:
        """Use these callbacks from now on; if the block raises, go back to the former ones."""
        before, self._runtime.hooks = self._runtime.hooks, hooks
        try:
            yield
        except BaseException:
            self._runtime.hooks = before
            raise

    def unsubscribe(self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None) -> None:
        """Give the partitions back and leave the group. Callbacks run on this thread, before it returns.

        Inside a callback it returns at once, and the group is left when that callback has returned.
        """
        self._check_open()
        with as_kafka_exceptions():
            self._member._check_mode(leave)
        if not self._runtime.subscribed:  # An assignment of the application's own stays, as in confluent-kafka.
            return
        with as_kafka_exceptions():
            self._member.unsubscribe(leave, reason=reason)
        self._runtime.wanted = False
        self._give_back()

    def _give_back(self) -> None:
        """Run callbacks until nothing is owned. Inside a callback, or while another thread closes, return at once.

        Then wait up to a second for the coordinator's answer: until it has removed the member, it refuses commits without
        a member id.
        """
        if self._queue.is_current_thread():
            return
        while (owned := self._member.snapshot).owned and owned.state is not MemberState.FATAL:
            if self._loop.visit_bridge() is Action.NOTHING:
                return
            self._queue.wait(_GIVE_BACK_S)
        deadline = monotonic() + _LEAVE_S
        while self._member.snapshot.state is MemberState.LEAVING and monotonic() < deadline:
            self._queue.wait(_GIVE_BACK_S)

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Trigger a rebalance of a classic group; the broker logs the reason. Under KIP-848 the brokers decide when to rebalance."""
        self._check_open()
        with as_kafka_exceptions():
            self._member.enforce_rebalance(reason)

    def memberid(self) -> str | None:  # type: ignore[override]  # their stub has str, and their method None
        """The member id. None before the first join, unless the protocol is KIP-848: there members make their own ids."""
        self._check_open()
        now = self._member.snapshot
        return now.member_id if now.epoch > 0 or now.protocol is GroupProtocol.CONSUMER else None

    def consumer_group_metadata(self) -> bytes:
        """Member id and epoch of this moment, for a producer's send_offsets_to_transaction(): brokers refuse a member that is out."""
        self._check_open()
        return group_metadata(self._member.snapshot, as_member=self._runtime.subscribed)

    @property
    def snapshot(self) -> Snapshot:
        """The membership at this moment: state, epoch, partitions, cause. Any thread, at any time, also after close()."""
        return self._member.snapshot

    @property
    def trace(self) -> Journal:
        """The last steps of the member. `trace.save(path)` writes them for `membership-client diagnose`; any thread."""
        return self._member.trace

    def progress(self) -> Progress:
        """Position, end and lag of each partition that is fetched, from what fetching knows: no broker is asked. Any thread."""
        self._check_open()
        return self._runtime.progress.read()

    def health(self) -> Health:
        """Whether the consumer is live and ready, and why, for probes. Any thread, at any time, also after close()."""
        return self._member.health()

    @property
    def last_rebalance(self) -> RebalanceReport | None:
        """The last rebalance that has ended: cause, trigger, time, callbacks, what moved; None before the first."""
        return self._member.last_rebalance

    def explain(self) -> str:
        """What this consumer does now, what it waits for and since when, its last rebalance, and what to do. For people."""
        queue = self._runtime.queue
        return self._member._explain(waits_for_poll=queue.waiting, callback_began_at=queue.began_at)

    def owner_epoch(self, record: Record) -> int | None:
        """The member epoch in which the record's partition was assigned; None if this consumer does not own it now."""
        partition = partition_of(record)
        ours_now = self._member.epoch > 0 and self._member.owns(partition)
        return self._runtime.assignment.epochs.get(partition) if ours_now else None

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Replace the user and password (PLAIN, SCRAM) of fetching and of the membership. Any thread.

        New connections and renewed sessions use them; open connections stay. ConfigError, which shows neither, if the
        configuration has no password. A member whose old password was refused starts over with subscribe().
        """
        self._check_open()
        with as_kafka_exceptions(), self._credentials:
            self._member._set_sasl_credentials(username, password)
            self._librdkafka.call(self._raw.set_sasl_credentials, username, password)

    # --- assignment --------------------------------------------------------------------------------------------------

    def assign(self, partitions: Places) -> None:
        """While subscribed: of the owned partitions read only these, from these offsets. Otherwise as in confluent-kafka."""
        self._check_open()
        if self._runtime.group_assigns:
            with as_kafka_exceptions():
                self._runtime.assignment.start_only_at(checked_places(partitions))
        else:
            places = checked_places(partitions)
            self._commits.commit_the_rest()
            self._librdkafka.assign(places)
            self._commits.pending.forget_read()

    def incremental_assign(self, partitions: Places) -> None:
        """While subscribed: read these owned partitions from these offsets. Otherwise as in confluent-kafka."""
        self._check_open()
        if self._runtime.group_assigns:
            with as_kafka_exceptions():
                self._runtime.assignment.start_at(checked_places(partitions))
        else:
            self._librdkafka.incremental_assign(as_places(partitions))

    def unassign(self) -> None:
        """While subscribed: stop reading the partitions of the running callback, or all. Otherwise as in confluent-kafka."""
        self._check_open()
        if self._runtime.group_assigns:
            with as_kafka_exceptions():
                self._runtime.assignment.stop_fetching()
        else:
            self._commits.commit_the_rest()
            self._librdkafka.unassign()
            self._commits.pending.forget_read()

    def incremental_unassign(self, partitions: Places) -> None:
        """Like unassign(), for these partitions only."""
        self._check_open()
        if self._runtime.group_assigns:
            with as_kafka_exceptions():
                self._runtime.assignment.stop_fetching(ours(checked_places(partitions)))
        else:
            places = checked_places(partitions)
            going = ours(places) & self._librdkafka.assignment()
            self._commits.commit_the_rest(going)
            self._librdkafka.incremental_unassign(places)
            self._commits.pending.forget_read(going)

    def assignment(self) -> Places:
        """The partitions that are fetched now."""
        self._check_open()
        return self._librdkafka.call(self._raw.assignment)

    def position(self, partitions: Places) -> Places:
        """The offset after the last record that was handed out, by partition."""
        self._check_open()
        return self._librdkafka.position(as_places(partitions))

    def seek(self, partition: confluent_kafka.TopicPartition) -> None:
        """Continue to read the partition from this offset. Works from on_assign on, also before the first record was fetched."""
        self._check_open()
        place = as_place(partition)
        if isinstance(place, confluent_kafka.TopicPartition):
            self._commits.pending.keep_read(ours([place]) & self._librdkafka.assignment())
        self._librdkafka.seek(place)

    def pause(self, partitions: Places) -> None:
        """Hand out no records of these partitions until they are resumed."""
        self._check_open()
        self._librdkafka.pause(as_places(partitions))

    def resume(self, partitions: Places) -> None:
        """Hand out records of these partitions again."""
        self._check_open()
        self._librdkafka.resume(as_places(partitions))

    def paused(self) -> Places:
        """The partitions that are paused, of those that are fetched."""
        return theirs(self._librdkafka.paused)

    list_topics = _WithLock()
    get_watermark_offsets = _WithLock()
    offsets_for_times = _WithLock()

    # --- offsets -----------------------------------------------------------------------------------------------------

    def commit(  # type: ignore[override]  # one signature for the six overloads
        self, message: Message | None = None, offsets: Places | None = None, asynchronous: bool = True, **older: bool
    ) -> Places | None:
        """Commit the record, the offsets, or all that was read. NotOwnedError once another member owns the partition.

        `async`, by now a word of the language, is an older name of `asynchronous`: `commit(**{"async": False})`.
        """
        self._check_open()
        asynchronous = bool(older.pop("async", asynchronous))
        if older:
            raise TypeError(f"commit() got an unexpected keyword argument {next(iter(older))!r}")
        return self._commits.commit(message, offsets, asynchronous=asynchronous, as_member=self._runtime.subscribed)

    def store_offsets(self, message: Message | None = None, offsets: Places | None = None) -> None:
        """Set the offsets that the next commit() without arguments, or the next automatic commit, commits."""
        self._check_open()
        self._commits.store(message, offsets)

    def committed(self, partitions: Places, timeout: float = -1) -> Places:
        """The offsets that the group committed last; OFFSET_INVALID where it committed none."""
        self._check_open()
        timeout = checked_wait(timeout)
        if not self._runtime.subscribed:
            return self._librdkafka.call(self._raw.committed, as_places(partitions), timeout)
        with as_kafka_exceptions():
            found = self._member.committed(
                ours(checked_places(partitions)), timeout_s=PATIENCE_S if timeout < 0 else timeout
            )
        nothing = Offset(confluent_kafka.OFFSET_INVALID)
        return theirs_at({p: found[p] or nothing for p in map(partition_of, partitions)})

    # --- long work ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def hold(self, *work: Record) -> Iterator[Self]:
        """Stay in the group during long work on these records' partitions; without arguments, on all.

        The poll interval does not run meanwhile. When the group wants these partitions back, `revoke_pending` returns True: end
        the work early and leave the block; the revoke callback runs at the end of the block. A revoke of other partitions only
        does not wait: its callback runs at once, on another thread, and commits nothing by itself. The end of the block tells
        that the work is done.
        """
        with self._loop.hold(frozenset(map(partition_of, work)) if work else None):
            yield self

    def revoke_pending(self, record: Record) -> bool:
        """Does the group wait for this partition to be given back, or is it lost already? Any thread; cheap."""
        call = self._queue.call
        if call is None:
            checked_record(record)  # A wrong argument must be refused before a rebalance, too.
            return False
        return call.takes_away(partition_of(record))

    # --- the end -----------------------------------------------------------------------------------------------------

    def stop_on_signals(self, *signals: signal.Signals) -> Self:
        """End iteration after the current record when one of these signals comes (default: SIGTERM, SIGINT). Main thread only."""
        for number in checked_signals(signals) or (signal.SIGTERM, signal.SIGINT):
            self._old_handlers[number] = signal.signal(number, self._on_signal)
        return self

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signal.signal() calls it
        self._stop_reason = signal.Signals(number).name

    def close(  # type: ignore[override]  # the report is more than confluent-kafka's nothing
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        """Commit, give the partitions back, leave, and end, within `timeout_s` (10 s). A second call does nothing. Any thread.

        Callbacks, also `stats_cb`, run on this thread. Their time is not part of `timeout_s`, but the remaining_s() of their
        context counts down to it. They can commit, because the membership lasts until they have returned, each for at most
        `max.poll.interval.ms`. What they raise is raised when all is done.
        """
        if (
            os.getpid() != self._pid
        ):  # A forked child has none of librdkafka's threads, so nothing else is to be closed.
            return self._member.close()
        with as_kafka_exceptions():
            reason, timeout_s = self._member._close_arguments(leave, reason, timeout_s)
        self._asked_close = self._asked_close or functools.partial(self._close, leave, reason, timeout_s)
        later = threading.get_ident() in self._inside
        before, after = self._queue.begin_close(later=later)
        if after.phase is Phase.CLOSE_ASKED or (after.phase is Phase.CLOSING and later):
            step = CloseStep("close", 0.0, "goes on when the callback or poll() has returned")
            return CloseReport(clean=False, reason=reason or reasons.CLOSED, steps=(step,))
        return self._member.close() if before.phase in {Phase.CLOSING, Phase.CLOSED} else self._asked_close()

    def _close_as_asked(self) -> None:
        """Carry out a close() that a callback called, on a polling thread, after that callback."""
        assert self._asked_close is not None
        self._asked_close()

    def _close(self, leave: LeaveMode, reason: str | None, timeout_s: float | None) -> CloseReport:
        within_s = _CLOSE_S if timeout_s is None else timeout_s
        deadline = monotonic() + within_s
        if not self._runtime.subscribed:
            self._commits.commit_the_rest()
        with contextlib.suppress(TimeoutError):
            self._commits.committer.commit_and_wait({}, within_s)  # Waits for the commits that were submitted before.
        left_s = None if timeout_s is None else max(0.0, deadline - monotonic())
        self._queue.close_by = None if timeout_s is None else deadline
        try:
            return self._member.close(leave, reason=reason or self._stop_reason, timeout_s=left_s)
        finally:
            self._end(deadline)

    def _end(self, deadline: float) -> None:
        self._commits.committer.stop()
        self._restore_handlers()
        try:
            with contextlib.suppress(MembershipError):
                self._loop.run_tasks()
        finally:
            self._queue.end_close()
            self._librdkafka.close(max(_CLOSE_GRACE_S, deadline - monotonic()))

    def _restore_handlers(self) -> None:
        if threading.current_thread() is threading.main_thread():  # Python sets handlers on no other thread.
            for number, handler in self._old_handlers.items():
                signal.signal(number, handler)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close. After an exception nothing more is committed automatically, because the current record must come again."""
        if kind is not None:
            self._commits.auto_commit_s = None
        self.close(reason=f"closed after an exception: {kind.__name__}" if kind else None)

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise forked_error(self)
        super()._check_open()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _on_report(self, error: KafkaError | None, partitions: Places) -> None:
        """Called inside librdkafka's poll() with the outcome of a commit without a subscription."""
        self._commits.report_of_librdkafka(error, partitions)


def forked_error(consumer: Consumer) -> MembershipError:
    """The error that all methods of the consumer raise in a forked child."""
    return as_kafka_exception(consumer._member._forked_error())


def _with_patterns(names: Iterable[str]) -> Subscribe:
    """One pattern for all names. Patterns of librdkafka match the begin of a name, those of brokers a whole name."""
    literal = frozenset(name for name in names if not name.startswith("^"))
    return Subscribe(regex="|".join(map(_whole_name, names)), named=literal)


def _whole_name(name: str) -> str:
    if not name.startswith("^"):
        return re.escape(checked_topic("topics", name))
    checked_pattern(name)
    return f"(?:{name})" if name.endswith("$") else f"(?:{name}).*"
