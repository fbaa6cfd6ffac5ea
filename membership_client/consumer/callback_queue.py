"""The bridge with its lock: callbacks of the group, and the threads that run them."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import field, replace

from membership_client.consumer.bridge import (
    Action,
    Bridge,
    CloseCalled,
    CloseEnded,
    Fact,
    HoldBegan,
    HoldEnded,
    Partitions,
    Prepared,
    Returned,
    Role,
    Stage,
    Wanted,
    hands_out,
    may_run,
    runs_on,
    step,
    visit,
)
from membership_client.consumer.monitor import Monitor
from membership_client.core.events import CallbackKind, CallbackReturned, RunCallback
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.listener import CallbackContext, Done, OnWarning, as_text, tell
from membership_client.types import TopicPartition
from membership_client.values import dataclass

logger = logging.getLogger("membership_client")

_SLICE_S = 0.02
"""How often a closing thread looks for callbacks."""


class Gate:
    """The moment until which poll() may hand out buffered records without asking the bridge. One float, read without a lock."""

    __slots__ = ("until",)

    def __init__(self) -> None:
        self.until = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A rebalance callback that the member wants run."""

    wanted: RunCallback
    done: Done
    context: CallbackContext = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", CallbackContext.of(self.wanted))

    def takes_away(self, partition: TopicPartition) -> bool:
        return self.wanted.kind is not CallbackKind.ASSIGNED and partition in self.wanted.partitions


class CallbackQueue:
    """A `listener.CallbackRunner`, whose callbacks run on a thread that polls or closes, or on one of its own during a hold.

    `prepare` is called with each callback on the membership thread, and calls `ready` with what is to be run, at once or later.
    """

    runs_on_closing_thread = True

    def __init__(self, prepare: Callable[[Call], None], monitor: Monitor, clock: Callable[[], float]) -> None:
        self.gate = Gate()
        self.on_warning: OnWarning | None = None
        self.close_by: float | None = None
        """The deadline of the application's close(), for the context of callbacks that begin meanwhile."""
        self.poller: int | None = None
        """The thread that polled last."""
        self.began_at: float | None = None
        """When the callback that runs began; None if none runs."""
        self.busy: Callable[[], int | None] = lambda: self._runs_on or self.poller
        """The thread that has a callback or records in hand."""
        self.start_hold_thread: Callable[[], None] = self._start_hold_thread
        self._prepare = prepare
        self._monitor = monitor
        self._clock = clock
        self._bridge = Bridge()
        self._call: Call | None = None
        self._handle: Callable[[], None] | None = None

    # --- the bridge, under its lock ----------------------------------------------------------------------------------

    @property
    def bridge(self) -> Bridge:
        return self._bridge

    def take_in(self, fact: Fact) -> Bridge:
        """Step the bridge, and return the bridge before that. Any thread, and signal handlers."""
        with self._monitor:
            before = self._swap(lambda bridge: (step(bridge, fact), None))[0]
            if not hands_out(self._bridge):
                self.gate.until = 0.0
            self._monitor.notify_all()
        return before

    def visit(self, role: Role, *, certain: bool) -> Action:
        """What the calling thread is to do. After RUN it must call `carry_out`."""
        thread = threading.get_ident()
        with self._monitor:
            return self._swap(lambda bridge: visit(bridge, role, thread, certain=certain))[1]

    def _swap(self, change: Callable[[Bridge], tuple[Bridge, Action | None]]) -> tuple[Bridge, Action]:
        """Change the bridge. Repeated if a signal handler, which may run on this thread between two calls, changed it meanwhile."""
        while True:
            before = self._bridge
            after, action = change(before)
            if self._bridge is before:
                self._bridge = after
                return before, action or Action.NOTHING

    def open_gate(self, until: Callable[[], float]) -> None:
        """Let poll() hand out records without a visit until that time, unless a callback or close() waits."""
        with self._monitor:
            if hands_out(self._bridge):
                self.gate.until = until()

    def shut_gate(self) -> None:
        """Have the next poll() visit the bridge. Any thread."""
        with self._monitor:
            self.gate.until = 0.0
            self._monitor.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait until the bridge changes, but not longer than `seconds`."""
        with self._monitor:
            self._monitor.wait(seconds)

    # --- callbacks ---------------------------------------------------------------------------------------------------

    @property
    def call(self) -> Call | None:
        """The callback that waits or runs; a member has at most one. None if there is none."""
        return self._call

    @property
    def waiting(self) -> bool:
        """Does a callback wait for a thread?"""
        pending = self._bridge.pending
        return pending is not None and pending.stage is Stage.WAITING

    @property
    def _runs_on(self) -> int | None:
        pending = self._bridge.pending
        return None if pending is None else pending.thread

    def may_read(self) -> bool:
        """Does no other thread run a callback?"""
        return self._runs_on in {None, threading.get_ident()}

    def ready(self, call: Call, handle: Callable[[], None]) -> None:
        """From now on a thread that visits the bridge may run `handle`. Any thread."""
        with self._monitor:
            if self._call is not call:
                return
            self._handle = handle
            self.take_in(Prepared(call.wanted.call_id))
        self._serve_during_holds()

    def carry_out(self) -> None:
        """To be called after RUN: run the callback, tell the member that it returned, then raise what it raised."""
        call, handle = self._call, self._handle
        self.began_at = began_at = self._clock()
        assert call is not None
        assert handle is not None
        try:
            handle()
        except BaseException as error:
            self._finish(call, began_at, as_text(error))
            raise
        self._finish(call, began_at, None)

    def _finish(self, call: Call, began_at: float, error: str | None) -> None:
        with self._monitor:
            # First the member, then the bridge: ownership begins before the first record can be handed out.
            call.done(CallbackReturned(call.wanted.call_id, error, began_at, threading.current_thread().name))
            self._call = self._handle = self.began_at = None
            self.take_in(Returned(call.wanted.call_id))

    # --- beside long work --------------------------------------------------------------------------------------------

    def hold(self, partitions: Partitions | None) -> None:
        self.take_in(HoldBegan(partitions))
        self._serve_during_holds()

    def release(self, partitions: Partitions | None) -> None:
        self.take_in(HoldEnded(partitions))

    def _serve_during_holds(self) -> None:
        if self._bridge.holds and may_run(self._bridge, Role.HOLD):
            self.start_hold_thread()

    def _start_hold_thread(self) -> None:
        try:
            threading.Thread(target=self.serve_during_hold, name="callbacks-while-held", daemon=True).start()
        except RuntimeError:  # The system can start no thread, so the callback waits for the end of the hold.
            logger.warning("No thread can be started; a rebalance callback waits until hold() ends.")

    def serve_during_hold(self) -> None:
        """Run callbacks that concern no held partition. The member logs what they raise, because no call can raise it."""
        while self.visit(Role.HOLD, certain=True) is Action.RUN:
            with contextlib.suppress(Exception):
                self.carry_out()

    # --- closing -----------------------------------------------------------------------------------------------------

    def begin_close(self, *, later: bool) -> tuple[Bridge, Bridge]:
        """The bridge before and after close() was called on this thread; `later` as in CloseCalled."""
        with self._monitor:
            before = self.take_in(CloseCalled(threading.get_ident(), later))
            return before, self._bridge

    def end_close(self) -> None:
        self.take_in(CloseEnded())

    def serve_closing(self) -> None:
        """Run the callbacks that wait, on the closing thread, and raise what they raise."""
        while self.visit(Role.CLOSE, certain=True) is Action.RUN:
            self.carry_out()

    # --- listener.CallbackRunner -------------------------------------------------------------------------------------

    def run(self, call: RunCallback, done: Done) -> None:
        wanted = Call(self._in_time(call), done)
        with self._monitor:
            self._call = wanted
            self.take_in(Wanted(call.call_id, frozenset(call.partitions), call.kind is not CallbackKind.ASSIGNED))
        self._prepare(wanted)

    def _in_time(self, call: RunCallback) -> RunCallback:
        if self.close_by is None or (call.deadline is not None and call.deadline < self.close_by):
            return call
        return replace(call, deadline=self.close_by)

    def tell_lost(self, call_id: int) -> None:
        call = self._call
        if call is not None and call.wanted.call_id == call_id:
            call.context.mark_lost()

    def thread(self) -> int | None:
        return self.busy()

    def warn(self, warning: BudgetWarning) -> None:
        tell(self.on_warning, warning)

    def is_current_thread(self) -> bool:
        return runs_on(self._bridge, threading.get_ident())

    def await_end(self, ended: Callable[[float], bool], timeout_s: float) -> None:
        """Run callbacks on the closing thread until the member has ended, then raise what the first of them raised.

        The time of the callbacks does not count: they cannot be cut short, and the member must still leave after them.
        """
        deadline = self._clock() + timeout_s
        raised: list[Exception] = []
        while not ended(_SLICE_S) and (now := self._clock()) < deadline:
            try:
                self.serve_closing()
            except Exception as error:  # noqa: BLE001 - raised at the end; the group must not wait for it
                raised.append(error)
            deadline += self._clock() - now
        if raised:
            raise raised[0]

    def stop(self) -> None:
        """Does nothing, because there is no thread to stop."""
