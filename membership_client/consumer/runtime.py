"""All parts of one Consumer, put together: the member, librdkafka, the callback queue, commits and the poll loop."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterator
from types import FrameType

import confluent_kafka
from confluent_kafka import Message

from membership_client.client import GroupMember
from membership_client.consumer.callback_queue import Call, CallbackQueue
from membership_client.consumer.commits import Commits
from membership_client.consumer.events import events_of, poll_interval_exceeded
from membership_client.consumer.fetch_assignment import FetchAssignment
from membership_client.consumer.hooks import no_hook
from membership_client.consumer.kafka_errors import as_kafka_exceptions
from membership_client.consumer.librdkafka import Librdkafka, Reports
from membership_client.consumer.monitor import Inside, LibrdkafkaLock, Monitor
from membership_client.consumer.pause_detection import PauseDetection
from membership_client.consumer.poll_loop import PollLoop
from membership_client.consumer.poll_time import Spent
from membership_client.consumer.progress import ProgressReader
from membership_client.consumer.settings import Settings
from membership_client.consumer.start_offsets import OffsetWait, Starts, look_up, milliseconds_ago, reason
from membership_client.core.events import CallbackKind, Warn
from membership_client.core.machine import Step
from membership_client.errors import CallbackFailedError, MembershipError, NotOwnedError, OffsetTimeoutError
from membership_client.runtime.busy_thread import frame_of
from membership_client.runtime.listener import Callback
from membership_client.runtime.log import MemberLogger, name_of
from membership_client.types import MemberState, Snapshot, TopicPartition

logger = logging.getLogger("membership_client")

_OFFSETS_S = 0.5
"""Timeout of one request for committed offsets. Then the commits that wait behind it are sent, and it is repeated."""

_GOING = frozenset(MemberState) - {MemberState.JOINING, MemberState.RECONCILING, MemberState.ACK, MemberState.STABLE}
"""States that end with the loss of all partitions."""

_MOST_FRAMES = 40
"""Frames of a thread's stack that are searched for records."""


class Runtime:
    """The parts of a Consumer, and the `Surroundings` of its poll loop. `hooks` are the application's callbacks."""

    def __init__(
        self,
        raw: confluent_kafka.Consumer,
        settings: Settings,
        reports: Reports,
        close_as_asked: Callable[[], None],
    ) -> None:
        self.hooks: dict[CallbackKind, Callback] = {}
        self.wanted = False
        """Does the application want to be in the group?"""
        self.close_as_asked = close_as_asked
        inside = Inside()
        self.librdkafka = Librdkafka(raw, LibrdkafkaLock(inside), reports)
        self.pauses = PauseDetection()
        self.queue = CallbackQueue(self._prepare, Monitor(inside), time.monotonic)
        self.librdkafka.may_read = self.queue.may_read
        observers = [self.pauses.on_step, self._on_step]
        if settings.statistics is not None:
            observers.append(settings.statistics.on_step)
        self.member = GroupMember(settings.member, observers=observers, runner=self.queue, security=settings.security)
        self.member._worker.before_state = self._before_state
        self.member._worker.every_second = self._every_second
        self.member._worker.is_held = lambda: bool(self.queue.bridge.holds)
        self._raises = settings.member.callback_errors == "raise"
        self.loop = PollLoop(
            self.librdkafka,
            self.queue,
            self,
            inside,
            raises=self._raises,
            visit_every_s=float("inf") if settings.auto_commit_s is None else settings.auto_commit_s,
        )
        self.commits = Commits(raw, self.librdkafka, self.member, settings, tell=self.tell, in_scope=self._in_scope)
        if settings.reset_s is not None:
            from membership_client.consumer.duration_reset import DurationReset  # noqa: PLC0415 - only this reset needs it

            resetting = DurationReset(raw.offsets_for_times, self.librdkafka, settings.reset_s)
            self.librdkafka.consume_raw = resetting.after(self.librdkafka.consume_raw)
        self.assignment = FetchAssignment(self.librdkafka, self.commits.pending, self.commits.committer, settings)
        self._raw = raw
        self._start = settings.start
        self._reset_s = settings.reset_s
        self._max_poll_interval_ms = settings.member.max_poll_interval_ms
        self._state = MemberState.UNSUBSCRIBED
        self._told = Spent()
        self.progress = ProgressReader(raw, self.librdkafka, self.commits.pending, self._counts)
        self.member._telemetry.watch(self.member._worker, self.progress.for_exporter)
        if settings.statistics is not None:
            settings.statistics.read_from(self._membership, self.librdkafka.buffer, self.commits.pending)

    @property
    def subscribed(self) -> bool:
        """Is the member in its group, or on its way? Also while it unsubscribes, because its callbacks may still commit."""
        return self.wanted or self.member.snapshot.state is not MemberState.UNSUBSCRIBED

    def _counts(self) -> bool:
        """Do the partitions that are fetched belong to this consumer? Not after the group has dropped it."""
        return not self.subscribed or self.member.epoch > 0

    def _membership(self) -> Snapshot | None:
        return self.member.snapshot if self.subscribed else None

    @property
    def group_assigns(self) -> bool:
        """Does the group decide what is read? Not after an unsubscribe has given all back: then the application may assign."""
        return self.wanted or self.queue.call is not None or bool(self.member.snapshot.owned)

    def tell(self, report: Callable[[], None]) -> None:
        """Have the report made on the next thread that polls. Any thread."""
        self.loop.tasks.append(report)
        self.queue.shut_gate()

    # --- Surroundings: on a polling thread -----------------------------------------------------------------------------

    def on_visit(self) -> None:
        with as_kafka_exceptions():
            if (fatal := self._polled()) is not None:
                raise fatal
        self.commits.committer.start()
        self.commits.commit_if_due(as_member=self.subscribed)

    def note_poll(self) -> None:
        self._polled()

    def is_certain(self) -> bool:
        return self.pauses.look()

    def certain_until(self) -> float:
        return self.pauses.until

    def is_settled(self) -> bool:
        return self._state in {MemberState.STABLE, MemberState.UNSUBSCRIBED} and self.queue.call is None

    def _polled(self) -> MembershipError | None:
        """Tell the member that the application polls; return the error that has ended it, or None."""
        if not self.subscribed:
            return None
        try:
            self.member.poll()
        except CallbackFailedError as error:
            # With callback.errors=raise the poll() that ran the callback has raised the error already.
            return None if self._raises else error
        except MembershipError as error:
            return error
        return None

    # --- callbacks: on the thread that runs them -------------------------------------------------------------------------

    def _take_away(self, call: Call) -> None:
        if call.wanted.kind is CallbackKind.REVOKED and not call.context.lost:
            hook = self.hooks.get(CallbackKind.REVOKED, no_hook)
            # Beside a hold the application may have unfinished records of a batch, which must come again.
            commit = self.commits.auto_commit_s is not None and not self._is_beside_hold()
            self.assignment.revoked(call, hook, commit=commit)
        else:  # This includes a revoke that waited for a poll longer than the group waited for it.
            self.assignment.lost(call, self.hooks.get(CallbackKind.LOST, no_hook))

    def _in_scope(self) -> frozenset[TopicPartition]:
        """The partitions that a commit without arguments covers: all that are read; during a hold only those of the callback."""
        call = self.queue.call
        if call is not None and self.queue.is_current_thread() and self._is_beside_hold():
            return frozenset(call.wanted.partitions)
        return self.librdkafka.assignment()

    def _is_beside_hold(self) -> bool:
        """Does this thread run a callback while the application works on a held partition?"""
        return bool(self.queue.bridge.holds)

    # --- callbacks: on the membership thread -----------------------------------------------------------------------------

    def _prepare(self, call: Call) -> None:
        if call.wanted.kind is CallbackKind.ASSIGNED:
            self._look_up_later(call, OffsetWait(time.monotonic()))
        else:
            self.queue.ready(call, functools.partial(self._take_away, call))

    def _look_up_later(self, call: Call, wait: OffsetWait) -> None:
        """Look up offsets after all commits that were submitted before, so that the answer includes them."""
        self.commits.committer.submit(functools.partial(self._look_up, call, wait))

    def _before_state(self, state: MemberState) -> None:
        self.pauses.before_state(state)
        self._state = state
        if state is MemberState.STALE:  # The event comes before on_lost, as in confluent-kafka.
            self.loop.urgent.append(poll_interval_exceeded(self._max_poll_interval_ms))
        self.queue.shut_gate()

    def _on_step(self, step: Step) -> None:
        self.librdkafka.buffer.put(events_of(step))
        if any(isinstance(effect, Warn) for effect in step.effects) and (records := _in_hand(self.queue.thread())):
            text = "%s: in hand: %s"
            MemberLogger(step.after).warning(text, name_of(step.after), ", ".join(records), extra={"records": records})
            self.member.trace.note("in hand", records=records)

    def _every_second(self) -> None:
        """Note that this process runs, and report how idle the application is. Reported times never decrease."""
        self.pauses.look()
        self.librdkafka.buffer.note_timestamps()
        spent, told = self.loop.time.spent(), self._told
        self._told = Spent(max(spent.idle_s, told.idle_s), max(spent.busy_s, told.busy_s))
        if self.subscribed:
            self.member._telemetry.polling(self._told.idle_s - told.idle_s, self._told.busy_s - told.busy_s)

    # --- callbacks: on the committer's thread ----------------------------------------------------------------------------

    def _look_up(self, call: Call, wait: OffsetWait) -> None:
        """Find out where new partitions start. Without a timeout, because a transaction may be open."""
        if call.context.lost or self.member.snapshot.state in _GOING:
            self._assign(call, None, {})
            return
        try:
            committed = self.member.committed(call.wanted.partitions, timeout_s=_OFFSETS_S)
            starts = self._starts(committed)
        except (OffsetTimeoutError, NotOwnedError) as error:
            if wait.is_to_tell(time.monotonic()):
                self.member._delayed(call.wanted.call_id, wait.since, reason(call.wanted.partitions, error))
            if isinstance(error, NotOwnedError):
                # The coordinator has removed the member, and the answer to the next heartbeat will say so.
                call.context.wait_lost(_OFFSETS_S)
            self._look_up_later(call, wait)
        except Exception as error:  # noqa: BLE001 - the callback raises it, and must not wait for ever
            self.queue.ready(call, functools.partial(_raise, error))
        else:
            self._assign(call, starts, committed)

    def _starts(self, committed: Starts) -> Starts:
        never = [partition for partition, offset in committed.items() if offset is None]
        start = self._start if self._reset_s is None else milliseconds_ago(self._reset_s)
        return {**committed, **self.librdkafka.call(look_up, self._raw, never, start)}

    def _assign(self, call: Call, starts: Starts | None, committed: Starts) -> None:
        hook = self.hooks.get(CallbackKind.ASSIGNED, no_hook)
        self.queue.ready(call, functools.partial(self.assignment.assigned, call, starts, committed, hook))


def _raise(error: Exception) -> None:
    raise error


def _in_hand(thread: int | None) -> list[str]:
    """The records in the local variables of a running thread, as topic-partition@offset; their contents are not shown."""
    return list(dict.fromkeys(_records(frame_of(thread))))


def _records(frame: FrameType | None) -> Iterator[str]:
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return
        for name, value in tuple(frame.f_locals.items()):
            if isinstance(value, Message) and value.error() is None:
                yield f"{value.topic()}-{value.partition()}@{value.offset()} ({name} in {frame.f_code.co_name})"
        frame = frame.f_back
