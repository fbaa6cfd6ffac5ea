"""The Python process in which a slot runs: where it is, and the signals that end it."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from membership_client_spark.leases.ledger import Ending
from membership_client_spark.leases.line import Notice

_ARGUMENT = re.compile(rb"--executor-id\0([^\0]+)\0")
_LOG_URL = re.compile(r"executorId=([^&]+)")


def place() -> dict[str, str | int | None]:
    """Host, process and executor: for the progress table, and for the driver, which must know the slots of an executor."""
    return {"host": os.environ.get("SPARK_LOCAL_HOSTNAME") or _host(), "pid": os.getpid(), "executor": executor_id()}


def executor_id() -> str | None:
    """None in local mode, where the driver is the executor, and where nothing has the id."""
    given = os.environ.get("SPARK_EXECUTOR_ID") or _in_log_url(os.environ.get("SPARK_LOG_URL_STDERR", ""))
    return given or _in_arguments(os.getppid())


def _host() -> str:
    return os.environ.get("SPARK_LOCAL_IP") or socket.gethostname()


def _in_log_url(url: str) -> str | None:
    found = _LOG_URL.search(url)
    return found[1] if found else None


def _in_arguments(daemon: int) -> str | None:
    """From the command line of the executor's JVM, the parent of the daemon that started this Python worker."""
    try:
        stat = Path(f"/proc/{daemon}/stat").read_text()
        jvm = stat.rpartition(")")[2].split()[1]
        found = _ARGUMENT.search(Path(f"/proc/{jvm}/cmdline").read_bytes())
    except (OSError, IndexError):
        return None
    return found[1].decode() if found else None


# --- signals ---------------------------------------------------------------------------------------------------------


class Signals:
    """While entered, SIGTERM and SIGHUP become a notice. Does nothing outside the main thread.

    Spark sends SIGHUP to Python workers when their executor is gone. A handler that goes on for longer than `grace_s`
    after that is ended by SIGALRM: its result cannot reach Spark any more.
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
