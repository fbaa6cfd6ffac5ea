"""The one thread that owns a member: wait, step, perform, repeat."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from membership_client.core.callbacks import returned
from membership_client.core.events import (
    Answered,
    CallbackKind,
    CallbackReturned,
    Disconnect,
    Effect,
    Event,
    Failed,
    LookAtCallback,
    Polled,
    ResolveTopics,
    RunCallback,
    Send,
    SiblingChanged,
    Stop,
    TellLost,
    Tick,
    TopicsResolved,
    Warn,
)
from membership_client.core.fencing import crashed
from membership_client.core.machine import Step, deadline, step
from membership_client.core.member import Member
from membership_client.errors import MemberClosedError
from membership_client.runtime.coordinator_requests import CoordinatorRequest, CoordinatorRequests
from membership_client.runtime.keeper_control import KeeperControl
from membership_client.runtime.listener import CallbackRunner
from membership_client.runtime.topic_names import TopicNames
from membership_client.types import MemberState, Node

_ENDED = "The member is closed."

_SECOND_S = 1.0
_KEEPER_START_S = 5.0
"""How long an assigned callback waits for the keeper, which is ready after a few tenths of a second."""

logger = logging.getLogger("membership_client")

Observer = Callable[[Step], None]


class Transport(Protocol):
    """How a worker reaches brokers. Only `wakeup` may be called from other threads, and from signal handlers."""

    def send(self, send: Send) -> None: ...
    def disconnect(self, to: Node | None) -> None: ...
    def wait(self, timeout_s: float | None) -> Sequence[Answered | Failed]: ...
    def wakeup(self) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...


class SideTask(Protocol):
    """What the owning thread does beside the membership. A task that raises is not called again."""

    def due_at(self, member: Member) -> float: ...
    def turn(self, worker: Worker, now: float) -> None: ...


class Worker:
    """Runs a member: takes events in, steps, and carries out the effects.

    Any thread, and a signal handler, may call `post` and read `known`; all else belongs to the owning thread.
    `member` is replaced as a whole after every step, so any thread that reads it sees one consistent moment.
    """

    def __init__(
        self,
        member: Member,
        transport: Transport,
        *,
        observers: Sequence[Observer] = (),
        names: TopicNames | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.member = member
        self.polled_at: float | None = None
        """When the application last polled, written by its thread: cheaper than an event for every poll."""
        self.is_held: Callable[[], bool] = lambda: False
        """Does the application do long work that it has announced with hold()? Then it counts as polling."""
        self.every_second: Callable[[], None] | None = None
        """Called on the owning thread at least once a second; None if nothing is to be called."""
        self.before_state: Callable[[MemberState], None] = lambda _: None
        """Called with a new state on the owning thread, before any other thread can see it."""
        self.keeper: KeeperControl | None = None
        """Has heartbeats sent while the interpreter is held; None if that is not configured."""
        self.side_task: SideTask | None = None
        """What else this thread does on the connections of the member, such as pushing metrics."""
        self._delayed_call: tuple[RunCallback, float] | None = None
        """A callback that was not handed to the runner yet, and until when that may wait."""
        self.runner: CallbackRunner | None = None
        self.stopped = False
        self.due_at = math.inf
        """When the owning thread takes its next turn, unless it is stuck. Read by other threads."""
        self._transport = transport
        self._observers = list(observers)
        self._names = names or TopicNames()
        # The clock is looked up for each member, because the test kit replaces it for members in virtual time.
        self._clock = clock or time.monotonic
        self._inbox: deque[Event | CoordinatorRequest] = deque()
        """What the member has not processed yet. Other threads add to it; each call of its methods is atomic."""
        self._siblings_changed: set[SiblingChanged] = set()
        """The events of siblings that wait in the inbox."""
        self._coordinator_requests = CoordinatorRequests()
        self._noted_poll: float | None = None
        self._returned: CallbackReturned | None = None

    @property
    def known(self) -> Member:
        """The member after the return of its last callback, also if the owning thread has not processed that return yet.

        What that callback assigned is owned, and what it revoked is not, from the moment it returns. A busy machine
        can let milliseconds pass until the owning thread runs. An application that already reads the new partitions would
        otherwise take them for another member's, and drop their records. Any thread.
        """
        member, event = self.member, self._returned
        if event is None or member.call is None or member.call.call_id != event.call_id:
            return member
        return returned(member, event, self._clock())[0]

    def post(self, event: Event) -> None:
        """Hand an event to the owning thread. Never blocks, takes no lock."""
        self._inbox.append(event)
        self._transport.wakeup()

    def sibling_changed(self, event: SiblingChanged) -> None:
        """Like `post`, unless an equal event already waits."""
        if event not in self._siblings_changed:
            self._siblings_changed.add(event)
            self.post(event)

    def _take_return(self, event: CallbackReturned) -> None:
        """A callback has returned. Any thread."""
        # The inbox comes first. Another thread may commit as soon as `known` shows the partition as owned; if its request
        # were in front of this event, the owning thread would refuse it.
        self._inbox.append(event)
        self._returned = event
        self._transport.wakeup()

    def run_request(self, wanted: CoordinatorRequest) -> None:
        """Carry a request beside the membership to the coordinator. Never blocks; its outcome comes into its `reply`."""
        self._inbox.append(wanted)
        self._transport.wakeup()
        if self.stopped:
            self._refuse_requests()

    def start_request(self, wanted: CoordinatorRequest) -> None:
        """Like `run_request`, but sent at once. For the owning thread."""
        if (request := self._coordinator_requests.start(wanted, self.member)) is not None:
            self._transport.send(request)

    def run(self) -> None:
        """Run the member until it is closed. Raises what a bug of this library raises, after the member has ended FATAL."""
        try:
            while not self.stopped:
                self.run_once()
        except BaseException as error:
            self._crash(error)
            raise
        finally:
            self.stopped = True
            if self.keeper is not None:
                self.keeper.link.close()
            self._transport.close()
            self._refuse_requests()
            if self.runner is not None:
                self.runner.stop()

    def _crash(self, error: BaseException) -> None:
        """End the member after a bug: otherwise it would look healthy, and the application would go on with lost partitions."""
        self.member, effects = crashed(self.member, repr(error), self._clock())
        for effect in effects:
            self._perform(effect)

    def run_once(self) -> None:
        """Wait until something happens or a rule is due, then process all that has happened."""
        # An answer that came while this thread waited for the processor is not late: look once more before a request times out.
        timeout_s = self._timeout_s()
        self.due_at = math.inf if timeout_s is None else self._clock() + timeout_s
        answers = self._transport.wait(timeout_s) or self._transport.wait(0.0)
        if self.every_second is not None:
            self.every_second()
        if self.keeper is not None and (report := self.keeper.news(self.member.request_timeout_s)):
            self._take(report)
        self._note_poll()
        for answer in answers:
            self._learn_names(answer)
            if not self._coordinator_requests.finish(answer):
                self._take(answer)
        for _ in range(len(self._inbox)):
            self._take_in(self._inbox.popleft())
        self._take(Tick())
        self._start_delayed_call()
        if self.side_task is not None:
            self._take_turn(self.side_task)

    def _take_turn(self, task: SideTask) -> None:
        try:
            task.turn(self, self._clock())
        except Exception:
            # A side task must not harm the member.
            self.side_task = None
            logger.exception("%r raised and is no longer called.", task)

    def _take_in(self, posted: Event | CoordinatorRequest) -> None:
        if not isinstance(posted, CoordinatorRequest):
            if isinstance(posted, SiblingChanged):
                # Before the step, because an equal event may come once more after it.
                self._siblings_changed.discard(posted)
            self._take(posted)
        else:
            self.start_request(posted)

    def _refuse_requests(self) -> None:
        """Answer all requests with an error, because no other thread may wait for a thread that has ended."""
        self._coordinator_requests.drop_all(_ENDED)
        while self._inbox:
            posted = self._inbox.popleft()
            if isinstance(posted, CoordinatorRequest):
                posted.reply.put(MemberClosedError(_ENDED, self.member.identity))

    def _timeout_s(self) -> float | None:
        if self._inbox:
            return 0.0
        at = deadline(self.member)
        if self._delayed_call is not None:
            at = self._delayed_call[1] if at is None else min(at, self._delayed_call[1])
        if self.side_task is not None and (due_at := self.side_task.due_at(self.member)) < math.inf:
            at = due_at if at is None else min(at, due_at)
        left_s = None if at is None else max(0.0, at - self._clock())
        if self.every_second is None:
            return left_s
        return _SECOND_S if left_s is None else min(left_s, _SECOND_S)

    def _note_poll(self) -> None:
        at = self._clock() if self.polled_at is not None and self.is_held() else self.polled_at
        if at is not None and at != self._noted_poll:
            self._noted_poll = at
            self._take(Polled(at))

    def _take(self, event: Event, *, again: bool = False) -> None:
        if self.stopped:
            return
        now, before = self._clock(), self.member
        after, effects = step(before, event, now)
        report = self.keeper.before(event, after, effects, held=self.is_held()) if self.keeper is not None else None
        if report is not None and again:
            self.post(report)
        elif report is not None:
            # Nothing of that step was carried out. It is repeated after the member has learned what the keeper was told.
            self._take(report)
            self._take(event, again=True)
            return
        if after.state is not before.state:
            self.before_state(after.state)
        self.member = after
        for effect in effects:
            self._perform(effect)
        if after is not before or effects:
            self._show(Step(now, before, event, effects, after))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(effect)
            case Disconnect():
                self._transport.disconnect(effect.to)
                self._coordinator_requests.drop(effect.to, "The connection to the coordinator was dropped.")
            case RunCallback():
                self._delayed_call = effect, self._clock() + _KEEPER_START_S
                self._start_delayed_call()
            case TellLost():
                self._start_delayed_call(at_once=True)
                assert self.runner is not None
                self.runner.tell_lost(effect.call_id)
            case Stop():
                self.stopped = True
            case Warn() | LookAtCallback():
                pass  # For observers only.

    def _start_delayed_call(self, *, at_once: bool = False) -> None:
        """Run a callback. An assigned one waits until the keeper is ready, because it may hold the interpreter at once."""
        if self._delayed_call is None:
            return
        call, at = self._delayed_call
        brings = call.kind is CallbackKind.ASSIGNED
        if brings and not at_once and self.keeper is not None and self.keeper.is_opening and self._clock() < at:
            return
        assert self.runner is not None
        self._delayed_call = None
        self.runner.run(call, self._take_return)

    def _send(self, send: Send) -> None:
        wanted = send.request.topic_ids if isinstance(send.request, ResolveTopics) else None
        if wanted is not None and (names := self._names.all_of(wanted)) is not None:
            self.post(Answered(send.request_id, TopicsResolved(names)))
        else:
            self._transport.send(send)

    def _learn_names(self, answer: Answered | Failed) -> None:
        if isinstance(answer, Answered) and isinstance(answer.response, TopicsResolved):
            self._names.learn(answer.response.names)

    def _show(self, shown: Step) -> None:
        for observer in tuple(self._observers):
            try:
                observer(shown)
            except Exception:
                # A broken observer must not harm the member.
                self._observers.remove(observer)
                logger.exception("Observer %r raised and is no longer called.", observer)
