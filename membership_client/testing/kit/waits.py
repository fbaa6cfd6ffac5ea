"""How a virtual consumer waits: its coroutines run on an event loop, or at once to their end."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from membership_client.testing.kit.scheduler import Scheduler

T = TypeVar("T")


def never() -> bool:
    """A condition that is never true, for waits that end only by their timeout."""
    return False


class Waits(Protocol):
    """A way to wait in virtual time. It raises Killed in a killed process."""

    async def until(self, is_ready: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Return when `is_ready()`, or the time is over."""


class ThreadWaits:
    """Waits by giving the turn of the calling task back. It never suspends the coroutine."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    async def until(self, is_ready: Callable[[], bool], timeout_s: float | None = None) -> None:
        self._scheduler.wait(is_ready, timeout_s)


def run_at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that awaits only `ThreadWaits`, and so is never suspended."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise AssertionError("a coroutine without an event loop was suspended")
