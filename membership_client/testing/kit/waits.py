"""How the methods of a virtual consumer wait: as coroutines that are run to their end at once, or on an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from membership_client.testing.kit.scheduler import Scheduler

T = TypeVar("T")


def never() -> bool:
    """For waits that only time ends."""
    return False


class Waits(Protocol):
    """Raises Killed in a process that was killed."""

    async def until(self, is_ready: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Returns when that is true, or the time is over."""


class ThreadWaits:
    """Gives the turn of the calling task back, and so is done when it returns."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    async def until(self, is_ready: Callable[[], bool], timeout_s: float | None = None) -> None:
        self._scheduler.wait(is_ready, timeout_s)


def run_at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that awaits nothing but `ThreadWaits`, and so never is suspended."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise AssertionError("a coroutine without an event loop was suspended")
