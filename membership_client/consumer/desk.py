"""What must happen on the polling thread lies here until that thread comes by: callbacks above all."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from membership_client.core.events import CallbackKind, CallbackReturned, RunCallback
from membership_client.listener import CallbackContext, Done, OnWarning, as_text, tell
from membership_client.types import TopicPartition
from membership_client.watchdog import BudgetWarning

_SLICE_S = 0.02
"""How often a closing thread looks for callbacks."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A callback the group waits for."""

    wanted: RunCallback
    done: Done
    context: CallbackContext = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", CallbackContext(self.wanted))

    def takes_away(self, partition: TopicPartition) -> bool:
        return self.wanted.kind is not CallbackKind.ASSIGNED and partition in self.wanted.partitions


class Desk:
    """A `listener.CallbackRunner` whose callbacks run on whichever thread serves it.

    `prepare` is told of a callback on the membership thread, and has `carry_out` left here once it may run.
    `attract` makes the polling thread come by, and `poller` says which one that is.
    """

    runs_on_closing_thread = True

    def __init__(self, prepare: Callable[[Call], None], attract: Callable[[], None], poller: Callable[[], int]) -> None:
        self.on_warning: OnWarning | None = None
        self.close_by: float | None = None
        """By when the application wants its close() to be done: callbacks that begin then are told so."""
        self._prepare = prepare
        self._attract = attract
        self.busy: Callable[[], int | None] = lambda: self._served_by or poller()
        """The thread that has a callback or records in hand."""
        self._tasks: deque[Callable[[], None]] = deque()
        self._call: Call | None = None
        self._served_by: int | None = None

    @property
    def waiting(self) -> bool:
        return bool(self._tasks)

    @property
    def call(self) -> Call | None:
        """The callback that waits or runs, if any: the group has at most one of each member."""
        return self._call

    def leave(self, task: Callable[[], None]) -> None:
        """Have it done on the polling thread. Any thread; what it raises is raised from poll()."""
        self._tasks.append(task)
        self._attract()

    def serve(self) -> None:
        """Do what waits, on the calling thread. After an error the rest waits for the next time."""
        while self._tasks:
            try:
                task = self._tasks.popleft()
            except IndexError:  # Another thread took it.
                return
            task()

    def carry_out(self, call: Call, handle: Callable[[], None]) -> None:
        """Run a callback and tell the member; then raise what it raised."""
        self._served_by, began_at = threading.get_ident(), time.monotonic()
        try:
            handle()
        except BaseException as error:
            self._finish(call, began_at, as_text(error))
            raise
        self._finish(call, began_at, None)

    def _finish(self, call: Call, began_at: float, error: str | None) -> None:
        self._served_by, self._call = None, None
        call.done(CallbackReturned(call.wanted.call_id, error, began_at, threading.current_thread().name))

    # --- listener.CallbackRunner -------------------------------------------------------------------------------------

    def run(self, call: RunCallback, done: Done) -> None:
        self._call = Call(self._in_time(call), done)
        self._prepare(self._call)

    def _in_time(self, call: RunCallback) -> RunCallback:
        if self.close_by is None or (call.deadline is not None and call.deadline < self.close_by):
            return call
        return replace(call, deadline=self.close_by)

    def tell_lost(self, call_id: int) -> None:
        call = self._call
        if call is not None and call.wanted.call_id == call_id:
            call.context._lost.set()

    def thread(self) -> int | None:
        return self.busy()

    def warn(self, warning: BudgetWarning) -> None:
        tell(self.on_warning, warning)

    def is_current_thread(self) -> bool:
        return threading.get_ident() == self._served_by

    def await_end(self, ended: Callable[[float], bool], timeout_s: float) -> None:
        """The application closes instead of polling, so its callbacks run here; what they raise, at the end.

        Their own time does not count: it cannot be cut short, and the member must be told to leave after it.
        """
        deadline = time.monotonic() + timeout_s
        raised: list[Exception] = []
        while not ended(_SLICE_S) and (now := time.monotonic()) < deadline:
            try:
                self.serve()
            except Exception as error:  # noqa: BLE001 - whatever it is, the group must not wait for it
                raised.append(error)
            deadline += time.monotonic() - now
        if raised:
            raise raised[0]

    def stop(self) -> None:
        """Nothing to stop: it has no thread."""
