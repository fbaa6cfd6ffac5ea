"""Budget warnings for a coroutine function: on the loop, should that not be what is stuck."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect

from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.listener import OnWarning


def on_loop(loop: asyncio.AbstractEventLoop, on_warning: OnWarning | None) -> OnWarning | None:
    """A plain function is called on a thread of its own, as ever: the loop may be what the warning is about."""
    if on_warning is None or not inspect.iscoroutinefunction(on_warning):
        return on_warning
    return functools.partial(_schedule, loop, on_warning, set())


def _schedule(
    loop: asyncio.AbstractEventLoop, on_warning: OnWarning, running: set[asyncio.Task[None]], warning: BudgetWarning
) -> None:
    """Any thread. `running` keeps the tasks, which the loop does not."""

    def begin() -> None:
        task = loop.create_task(_told(on_warning, warning))
        running.add(task)
        task.add_done_callback(running.discard)

    with contextlib.suppress(RuntimeError):  # The loop is closed.
        loop.call_soon_threadsafe(begin)


async def _told(on_warning: OnWarning, warning: BudgetWarning) -> None:
    told = on_warning(warning)
    assert inspect.isawaitable(told)
    await told
