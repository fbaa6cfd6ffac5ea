"""One callback that runs on the application's loop while another thread waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import Callable

from membership_client.errors import CallbackFailedError
from membership_client.runtime.listener import CallbackContext

Ended = Callable[[BaseException | None], None]

NO_TIME = "The callback was cancelled: the group does not wait for it any longer."
LOST = "The callback was cancelled: its partitions were lost meanwhile."
_SHUT_DOWN = "The callback was cancelled, as the other tasks of its event loop were."
_CLOSED = "The event loop is closed, so the callback cannot run: close the member or consumer before its loop ends."

_inside: contextvars.ContextVar[LoopCall | None] = contextvars.ContextVar("inside", default=None)


class LoopCall:
    """Calls `callback` in a task of its own and awaits what it returns; then `ended` is called once, on any thread.

    A coroutine is cancelled when the context's time is up or `give_up` is called; a plain function cannot be cancelled.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        callback: Callable[[], object],
        context: CallbackContext,
        ended: Ended,
    ) -> None:
        self._loop = loop
        self._callback = callback
        self._context = context
        self._ended = [ended]
        self._task: asyncio.Task[None] | None = None
        self._why: str | None = None

    def start(self) -> None:
        """Have the callback run. Any thread; never blocks."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._begin)
        self.end_with_loop()

    def give_up(self, why: str) -> None:
        """Cancel the callback. Any thread; never blocks."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._cancel, why)
        self.end_with_loop()

    def end_with_loop(self) -> None:
        """End the call if the loop is closed. To be called again and again, because a closed loop reports nothing. Any thread."""
        if self._loop.is_closed():
            self._end(CallbackFailedError(_CLOSED))

    @property
    def is_current(self) -> bool:
        """Is the caller this callback, or a task that it has started?"""
        return _inside.get() is self and bool(self._ended)

    # --- on the loop -------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._finish)

    async def _run(self) -> None:
        _inside.set(self)
        left_s = self._context.remaining_s()
        timer = None if left_s is None else self._loop.call_later(left_s, self._cancel, NO_TIME)
        try:
            returned = self._callback()
            if inspect.isawaitable(returned):
                await returned
        finally:
            if timer is not None:
                timer.cancel()

    def _cancel(self, why: str) -> None:
        if self._task is not None and self._why is None:
            self._why = why
            self._task.cancel(why)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._end(CallbackFailedError(self._why or _SHUT_DOWN) if task.cancelled() else task.exception())

    def _end(self, error: BaseException | None) -> None:
        with contextlib.suppress(IndexError):  # The call has ended already.
            self._ended.pop()(error)
