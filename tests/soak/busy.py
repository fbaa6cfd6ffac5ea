"""One busy thread beside a program, and how often threads change places."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

OFTEN_S = 1e-5
"""Threads change places between any two lines, so that what can happen there soon does."""

SELDOM_S = 5e-3
"""Python's own: a thread that wants to run waits this long for the busy one, so that what is late is very late."""


def keep_busy(switch_s: float) -> None:
    """Starts a thread that computes until the process ends; threads change places this often."""
    sys.setswitchinterval(switch_s)
    threading.Thread(target=_compute, name="busy", daemon=True).start()


def _compute() -> None:
    number = 0
    while True:
        number = (number * 31 + 7) % 1_000_003


class BusyHandler:
    """A handler for Spark's `consume` whose Python worker is kept busy from before its slot joins.

    Spark sends it to the worker as bytes, so that reading them is the earliest moment.
    """

    def __init__(self, handle: Callable[[Any, Any], None]) -> None:
        self._handle = handle

    def __call__(self, batch: Any, slot: Any) -> None:
        self._handle(batch, slot)

    def __reduce__(self) -> tuple[Callable[..., BusyHandler], tuple[Callable[[Any, Any], None]]]:
        return _with_a_busy_thread, (self._handle,)


def _with_a_busy_thread(handle: Callable[[Any, Any], None]) -> BusyHandler:
    if "busy" not in {thread.name for thread in threading.enumerate()}:
        keep_busy(SELDOM_S)
    return BusyHandler(handle)
