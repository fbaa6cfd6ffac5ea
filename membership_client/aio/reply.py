"""Reply: the outcome of a call on another thread, which a coroutine awaits."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Reply(Generic[T]):
    """Made and awaited on the loop, given on any thread. Only the first outcome counts; it is dropped if the loop is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._context = contextvars.copy_context()
        self._future: asyncio.Future[T] = self._loop.create_future()

    @property
    def wanted(self) -> bool:
        """Does a coroutine still wait for it?"""
        return not self._future.done() and not self._loop.is_closed()

    def carry_out(self, action: Callable[[], T]) -> None:
        """Run `action` and give what it returns or raises. It runs in the context of the task that made this, such as its span."""
        try:
            value = self._context.run(action)
        except BaseException as error:  # noqa: BLE001 - raised where the reply is awaited
            self.fail(error)
        else:
            self.give(value)

    def give(self, value: T) -> None:
        self._tell(self._future.set_result, value)

    def fail(self, error: BaseException) -> None:
        self._tell(self._future.set_exception, error)

    def __await__(self) -> Generator[Any, None, T]:
        return self._future.__await__()

    async def within(self, timeout_s: float | None) -> T:
        """The outcome; TimeoutError if it does not come in time."""
        # Not wait_for: in Python 3.11 it swallows a cancellation that comes in the same moment as the result.
        async with asyncio.timeout(timeout_s):
            return await self._future

    def _tell(self, settle: Callable[[Any], None], outcome: object) -> None:
        if threading.get_ident() == self._thread:
            self._settle(settle, outcome)
            return
        with contextlib.suppress(RuntimeError):  # The loop is closed, so no coroutine waits.
            self._loop.call_soon_threadsafe(self._settle, settle, outcome)

    def _settle(self, settle: Callable[[Any], None], outcome: object) -> None:
        if not self._future.done():
            settle(outcome)


async def in_thread(action: Callable[[], T]) -> T:
    """Run `action` on a daemon thread of its own and return its outcome.

    If the caller is cancelled, the thread ends by itself; no loop waits for it.
    """
    reply: Reply[T] = Reply()
    threading.Thread(target=reply.carry_out, args=(action,), name="aio-call", daemon=True).start()
    return await reply
