"""The polling thread: who it is, how it is called, and what it does when it comes by."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

import confluent_kafka

from membership_client.client import GroupMember
from membership_client.consumer.absence import Absence
from membership_client.consumer.attendant import Attendant
from membership_client.consumer.busy import in_hand
from membership_client.consumer.commits import Commits
from membership_client.consumer.data_path import DataPath
from membership_client.consumer.desk import Call, Desk
from membership_client.consumer.holds import Holds
from membership_client.consumer.hooks import no_hook
from membership_client.consumer.kafka_errors import as_kafka_exceptions
from membership_client.consumer.knock import knock, pass_for
from membership_client.consumer.offset_wait import OffsetWait, reason
from membership_client.consumer.poll_time import PollTime
from membership_client.consumer.settings import Settings
from membership_client.consumer.starts import Starts, look_up
from membership_client.consumer.topic_events import TopicEvents
from membership_client.consumer.translate import ours
from membership_client.consumer.unseen import Spent
from membership_client.core.events import CallbackKind, Warn
from membership_client.core.machine import Step
from membership_client.errors import CallbackFailedError, MembershipError, NotOwnedError, OffsetTimeoutError
from membership_client.listener import Callback
from membership_client.logs import name_of
from membership_client.types import MemberState, TopicPartition

logger = logging.getLogger("membership_client")

T = TypeVar("T")

_LOOK_EVERY_S = 1.0

_DOUBT_S = 0.01
"""How often is looked whether we may go on after an absence."""

_FIRST_TURN_S = 0.5
"""So long is asked for committed offsets before we look whether the question still stands; then twice as long."""
_LONGEST_TURN_S = 2.0

_GOING = frozenset(MemberState) - {MemberState.JOINING, MemberState.RECONCILING, MemberState.ACK, MemberState.STABLE}
"""States that end with the loss of all partitions."""


class Polling:
    """Everything that happens between the membership thread, which wants something, and the application, which polls."""

    def __init__(self, raw: confluent_kafka.Consumer, settings: Settings, watch: Callable[[], None]) -> None:
        self.hooks: dict[CallbackKind, Callback] = {}
        self.wanted = False
        """Does the application want to be in the group?"""
        self.thread = threading.get_ident()
        """Who polled last."""
        self.time = PollTime()
        self.absence = Absence()
        self._told = Spent()
        every_s = min(_LOOK_EVERY_S, settings.member.max_poll_interval_ms / 20_000)
        self.attendant = Attendant(
            functools.partial(knock, raw),
            lambda: self.thread,
            self._attend,
            every_s,
            f"{settings.member.group_id}-attendant",
        )
        self.desk = Desk(self._prepare, self.attendant.call, lambda: self.thread)
        self.topic_events = TopicEvents(self.attendant.call)
        observers = (self.absence.on_step, self._on_step, self.topic_events.on_step)
        self.member = GroupMember(settings.member, observers=observers, runner=self.desk, security=settings.security)
        self.commits = Commits(raw, self.member, self.desk, settings, self._in_scope)
        self.path = DataPath(raw, self.commits.ledger, self.commits.committer, settings)
        self._raw = raw
        self._start = settings.start
        self._raises = settings.member.callback_errors == "raise"
        self._holds = Holds()
        self._aside: int | None = None
        """The thread that serves callbacks while the application holds others."""
        self._watch = watch
        self._unraised: deque[BaseException] = deque()

    @property
    def subscribed(self) -> bool:
        """Also while an unsubscribe is under way, whose callbacks may still commit."""
        return self.wanted or self.member.snapshot.state is not MemberState.UNSUBSCRIBED

    @contextlib.contextmanager
    def hooked(self, hooks: dict[CallbackKind, Callback]) -> Iterator[None]:
        """These callbacks from now on, unless the block fails."""
        before, self.hooks = self.hooks, hooks
        try:
            yield
        except BaseException:
            self.hooks = before
            raise

    # --- on the polling thread ---------------------------------------------------------------------------------------

    def arrive(self) -> None:
        """At the beginning of a call that is watched."""
        self.thread = threading.get_ident()
        self.look()
        self.time.entered()

    def look(self) -> None:
        """With no record in hand: run what waits, and raise what must be raised."""
        if self._unraised:
            raise self._unraised.popleft()
        fatal = self.note_poll()
        if fatal is not None or self.desk.waiting:
            self._serve(fatal)
        self.commits.automatically(as_member=self.subscribed)

    def await_certainty(self, timeout_s: float) -> bool:
        """After an absence: until the coordinator has confirmed us, or False when time is up. What waits is served."""
        deadline = float("inf") if timeout_s < 0 else time.monotonic() + timeout_s
        while not self.absence.look():
            if (left_s := deadline - time.monotonic()) <= 0:
                return False
            time.sleep(min(_DOUBT_S, left_s))
            self.look()
        return True

    def _serve(self, fatal: MembershipError | None) -> None:
        with as_kafka_exceptions():
            self.desk.serve()
            if fatal is not None:
                raise fatal

    def look_from_within(self) -> None:
        """As `look`, called by librdkafka inside its poll(), which drops the record that follows an exception.

        So what is raised here is raised by the next poll().
        """
        try:
            self.look()
        except BaseException as error:  # noqa: BLE001 - nothing is swallowed, only put off
            self._unraised.append(error)
            self._watch()

    def note_poll(self) -> MembershipError | None:
        """The application is alive; what its member has ended of, if it has."""
        if not self.subscribed:
            return None
        try:
            self.member.poll()
        except CallbackFailedError as error:
            return None if self._raises else error  # It was raised where it happened, or has ended the member.
        except MembershipError as error:
            return error
        return None

    def _in_scope(self) -> frozenset[TopicPartition]:
        """Beside a hold only what the callback is about: of the rest, records are in hand."""
        call = self.desk.call
        if call is not None and self._aside == threading.get_ident():
            return frozenset(call.wanted.partitions)
        return ours(self._raw.assignment())

    @contextlib.contextmanager
    def hold(self, partitions: frozenset[TopicPartition] | None) -> Iterator[None]:
        with self._holds.hold(partitions):
            self.attendant.call()
            yield
        self.look()

    def _carry_out(self, call: Call, handle: Callable[[], None]) -> None:
        try:
            self.desk.carry_out(call, handle)
        except Exception:
            if self._raises:
                raise

    def _take_away(self, call: Call) -> None:
        if call.wanted.kind is CallbackKind.REVOKED and not call.context.lost:
            hook = self.hooks.get(CallbackKind.REVOKED, no_hook)
            # Beside a hold the application may have unfinished records of a batch, which must come again.
            commit = self.commits.auto_commit_s is not None and self._aside != threading.get_ident()
            self.path.revoked(call, hook, commit=commit)
        else:  # Also a revoke that waited for its poll until the group waited no longer.
            self.path.lost(call, self.hooks.get(CallbackKind.LOST, no_hook))

    # --- on the membership thread ------------------------------------------------------------------------------------

    def _prepare(self, call: Call) -> None:
        if call.wanted.kind is CallbackKind.ASSIGNED:
            self.commits.committer.submit(functools.partial(self._find_starts_aside, call))
        else:
            self._leave(call, functools.partial(self._take_away, call))

    def _leave(self, call: Call, handle: Callable[[], None]) -> None:
        self.desk.leave(functools.partial(self._carry_out, call, handle))

    def _on_step(self, step: Step) -> None:
        if step.after.state is MemberState.FATAL and step.before.state is not MemberState.FATAL:
            self.attendant.call()
        if any(isinstance(effect, Warn) for effect in step.effects) and (records := in_hand(self.desk.thread())):
            logger.warning("%s: in hand: %s", name_of(step.after), ", ".join(records))
            self.member.trace.note("in hand", records=records)

    # --- on the committer's thread -----------------------------------------------------------------------------------

    def _find_starts_aside(self, call: Call) -> None:
        """Behind all commits that were submitted before, so that none is missed; those that come later do not wait."""
        threading.Thread(target=self._find_starts, args=(call,), name="committed-offsets", daemon=True).start()

    # --- on a thread of its own --------------------------------------------------------------------------------------

    def _find_starts(self, call: Call) -> None:
        try:
            starts = self._starts(call)
        except MembershipError as error:
            self._leave(call, functools.partial(_raise, error))
        else:
            hook = self.hooks.get(CallbackKind.ASSIGNED, no_hook)
            self._leave(call, functools.partial(self.path.assigned, call, starts, hook))

    def _starts(self, call: Call) -> Starts | None:
        committed = self._committed(call)
        if committed is None:
            return None
        never = [partition for partition, offset in committed.items() if offset is None]
        return {**committed, **self.as_poller(lambda: look_up(self._raw, never, self._start))}

    def _committed(self, call: Call) -> Starts | None:
        """However long it takes, because a transaction may be open; None once the partitions are not ours to read."""
        turn_s, wait = _FIRST_TURN_S, OffsetWait(time.monotonic())
        while not call.context.lost and self.member.snapshot.state not in _GOING:
            try:
                return self.member.committed(call.wanted.partitions, timeout_s=turn_s)
            except OffsetTimeoutError as error:
                turn_s = min(2 * turn_s, _LONGEST_TURN_S)
                self._tell_wait(call, wait, error)
            except NotOwnedError as error:
                self._tell_wait(call, wait, error)
                call.context.wait_lost(_FIRST_TURN_S)  # The group has dropped us, and the next heartbeat will say so.
        return None

    def _tell_wait(self, call: Call, wait: OffsetWait, error: MembershipError) -> None:
        if wait.is_to_tell(time.monotonic()):
            self.member._delayed(call.wanted.call_id, wait.since, reason(call.wanted.partitions, error))

    # --- on the attendant's thread -----------------------------------------------------------------------------------

    def _attend(self) -> None:
        self.absence.look()
        self._tell_time()
        self._watch()
        if not self._holds:
            return
        self.note_poll()
        call = self.desk.call
        if call is not None and self._holds.spare(call.wanted.partitions):
            threading.Thread(target=self._serve_aside, name="callbacks-while-held", daemon=True).start()

    def _tell_time(self) -> None:
        """What was told is not taken back, should another conclusion be drawn of it later. Outside the group, nothing is."""
        spent, told = self.time.spent(), self._told
        self._told = Spent(max(spent.idle_s, told.idle_s), max(spent.busy_s, told.busy_s))
        if self.subscribed:
            self.member._telemetry.polling(self._told.idle_s - told.idle_s, self._told.busy_s - told.busy_s)

    def _serve_aside(self) -> None:
        self._aside = threading.get_ident()
        with contextlib.suppress(Exception):  # The member knows, and logs it; here is nobody to raise it to.
            self.desk.serve()
        self._aside = None

    # --- on whichever thread needs librdkafka meanwhile --------------------------------------------------------------

    def as_poller(self, action: Callable[[], T]) -> T:
        """Use librdkafka although another thread may be inside poll()."""
        return contextvars.copy_context().run(self._as_poller, action)

    def _as_poller(self, action: Callable[[], T]) -> T:
        pass_for(self.thread)
        return action()


def _raise(error: Exception) -> None:
    raise error
