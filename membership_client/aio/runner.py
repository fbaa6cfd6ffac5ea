"""Runs a member's callbacks on the application's event loop."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable, Mapping

from membership_client.aio.loop_call import LOST, LoopCall
from membership_client.core.events import CallbackKind, CallbackReturned, RunCallback
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.listener import Callback, CallbackContext, Done, OnWarning, as_text, tell

_SLICE_S = 0.1
"""How often a closing thread checks whether the loop is still open."""


class LoopRunner:
    """A `listener.CallbackRunner`. One callback at a time, because the member asks for one at a time."""

    runs_on_closing_thread = False

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        callbacks: Mapping[CallbackKind, Callback],
        on_warning: OnWarning | None = None,
    ) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._on_warning = on_warning
        self._callbacks = callbacks
        self._current: tuple[RunCallback, CallbackContext, LoopCall] | None = None

    def run(self, call: RunCallback, done: Done) -> None:
        callback = self._callbacks.get(call.kind)
        if callback is None:
            done(CallbackReturned(call.call_id))
            return
        context = CallbackContext.of(call)
        ended = functools.partial(_report, call.call_id, done)
        running = LoopCall(self._loop, functools.partial(callback, call.partitions, context), context, ended)
        self._current = (call, context, running)
        running.start()

    def tell_lost(self, call_id: int) -> None:
        if self._current is None or self._current[0].call_id != call_id:
            return
        call, context, running = self._current
        context.mark_lost()
        if call.kind is not CallbackKind.LOST:
            running.give_up(LOST)

    def thread(self) -> int | None:
        """The thread of the loop, on which this runner was made."""
        return self._thread

    def warn(self, warning: BudgetWarning) -> None:
        tell(self._on_warning, warning)

    def is_current_thread(self) -> bool:
        """Is the caller a callback? All callbacks have the loop's thread, so the current task tells it."""
        return self._current is not None and self._current[2].is_current

    def await_end(self, ended: Callable[[float], bool], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not ended(_SLICE_S) and time.monotonic() < deadline:
            if self._current is not None:
                self._current[2].end_with_loop()

    def stop(self) -> None:
        """Does nothing, because there is no thread to stop."""


def _report(call_id: int, done: Done, error: BaseException | None) -> None:
    done(CallbackReturned(call_id, None if error is None else as_text(error)))
