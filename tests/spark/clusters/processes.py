"""Families of processes that end with the tests, however these end."""

from __future__ import annotations

import signal

from membership_client.testing import guard
from membership_client_spark.demo import processes
from membership_client_spark.demo.processes import ENDED, SystemProcess, family, look, send, signal_family

__all__ = [
    "SystemProcess",
    "end_family",
    "end_paused_children",
    "family",
    "is_paused",
    "is_running",
    "send",
    "signal_family",
    "watch_family",
]


def watch_family(first: int) -> None:
    """From now on the family does not outlive us, paused or not."""
    # The guard kills as kill(2) does: a negative number is a process group, here that of the JVMs. Spark's Python
    # processes have groups of their own, and end when the pipe from their JVM does.
    guard.watch_process(-first)


def end_family(first: int) -> None:
    """As `processes.end_family`, and the guard forgets the family."""
    processes.end_family(first)
    guard.forget_process(-first)


def is_running(pid: int) -> bool:
    """Neither gone nor a zombie."""
    process = look(pid)
    return process is not None and process.state not in ENDED


def is_paused(pid: int) -> bool:
    """By SIGSTOP."""
    process = look(pid)
    return process is not None and process.state == "T"


def end_paused_children(first: int) -> None:
    """SIGKILL to all of the family who are paused, except the first."""
    for process in family(first):
        if process.pid != first and is_paused(process.pid):
            send(process.pid, signal.SIGKILL)
