"""Has functions of the application called on its loop: those of a configuration, and the one for budget warnings."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from membership_client.runtime.listener import OnWarning

T = TypeVar("T")

_KEYS = ("error_cb", "on_commit", "stats_cb", "throttle_cb")


def reports_on_loop(config: Mapping[str, Any], loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
    """The configuration with functions that are called on the loop. What they raise goes to its exception handler."""
    found = {key: config[key] for key in _KEYS if callable(config.get(key))}
    return {**config, **{key: _on_loop(loop, function) for key, function in found.items()}}


def warnings_on_loop(loop: asyncio.AbstractEventLoop, on_warning: OnWarning | None) -> OnWarning | None:
    """A coroutine function is called on the loop. A plain one stays as it is: the loop may be what the warning is about."""
    if on_warning is None or not inspect.iscoroutinefunction(on_warning):
        return on_warning
    return _on_loop(loop, on_warning)


def _on_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., Any]) -> Callable[..., None]:
    running: set[asyncio.Task[Any]] = set()
    """Keeps the tasks alive, because the loop does not."""

    def begin(*told: Any) -> None:
        returned = function(*told)
        if inspect.isawaitable(returned):
            task = loop.create_task(awaited(returned))
            running.add(task)
            task.add_done_callback(running.discard)

    def tell(*told: Any) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            loop.call_soon_threadsafe(begin, *told)

    return tell


async def awaited(returned: Awaitable[T]) -> T:
    """A coroutine for anything that can be awaited: loops make tasks of coroutines only."""
    return await returned
