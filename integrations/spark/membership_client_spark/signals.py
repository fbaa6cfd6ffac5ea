"""Signals that end a slot: it leaves in order instead of dying on the spot."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.line import Notice


class Signals:
    """While entered, SIGTERM and SIGHUP become a notice. Does nothing outside the main thread.

    Spark sends SIGHUP to Python workers when their executor is gone. A handler that goes on for longer than `grace_s`
    after that is cut off by the system: nobody waits for its result.
    """

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._before: dict[signal.Signals, Any] = {}
        self.notice: Notice | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signal.signal() calls it
        name = signal.Signals(number).name
        if number == signal.SIGHUP:
            signal.setitimer(signal.ITIMER_REAL, self._grace_s)
        self.notice = Notice(Ending.MOVED, f"{name}: the executor ended" if number == signal.SIGHUP else name)
