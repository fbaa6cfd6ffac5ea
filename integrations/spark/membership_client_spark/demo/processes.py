"""Processes as /proc has them, families of them, and the executors of Spark in a family.

A family is a session in the system's sense: all that one process of ours started, directly or not. A child may change its
parent (when that dies) and its process group (Spark's Python daemons do), but not its session, so it is always found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_KILL_TIMEOUT_S = 30
ENDED = "ZX"
"""States of processes that do not run any more: zombies and dead ones."""


@dataclass(frozen=True, slots=True)
class SystemProcess:
    """One process at the moment it was looked at. `session` is the pid of the family's first."""

    pid: int
    parent: int
    session: int
    state: str
    arguments: tuple[str, ...]

    def children(self, relatives: list[SystemProcess]) -> list[SystemProcess]:
        """The processes among `relatives` that it started itself."""
        return [process for process in relatives if process.parent == self.pid]


def family(first: int) -> list[SystemProcess]:
    """All living processes of the family; `first` must have been started with a session of its own."""
    return [process for process in _all_processes() if process.session == first and process.state not in ENDED]


def signal_family(first: int, number: signal.Signals) -> None:
    """Signals all processes that the family has now, and returns at once."""
    for process in family(first):
        send(process.pid, number)


def end_family(first: int) -> None:
    """Sends SIGKILL until no process is left, also to children that were just being started.

    `first` must not have been waited for yet: its pid could belong to another process.
    """
    give_up_at = time.monotonic() + _KILL_TIMEOUT_S
    while left := family(first):
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"These processes still run {_KILL_TIMEOUT_S} s after SIGKILL: {left}.")
        signal_family(first, signal.SIGKILL)
        time.sleep(0.01)


def send(pid: int, number: signal.Signals) -> None:
    """Signals a process that may have ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _all_processes() -> Iterator[SystemProcess]:
    for directory in Path("/proc").glob("[0-9]*"):
        process = look(int(directory.name))
        if process is not None:
            yield process


def look(pid: int) -> SystemProcess | None:
    """The process at this moment; None if it is gone."""
    directory = Path("/proc", str(pid))
    # A process may end while it is read: its files are then gone, or cut off.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        # The second field is the program's name, and may itself contain spaces and brackets.
        state, parent, _, session, *_ = (directory / "stat").read_text(errors="replace").rpartition(")")[2].split()
        arguments = (directory / "cmdline").read_text(errors="replace").split("\0")
        return SystemProcess(pid, int(parent), int(session), state, tuple(arguments))
    return None


# --- the executors among them ----------------------------------------------------------------------------------------

_MAIN_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_DAEMON_MODULE = "pyspark.daemon"


@dataclass(frozen=True, slots=True)
class Executor:
    """One executor at the moment of the look. `pid` is that of its JVM; a daemon forks Python workers as tasks need them."""

    app_id: str
    executor_id: str
    host: str
    pid: int
    python_daemons: tuple[int, ...]
    python_workers: tuple[int, ...]

    def kill(self) -> None:
        """SIGKILL to the JVM; its Python processes end by themselves, a little later."""
        send(self.pid, signal.SIGKILL)


def executors_in(first: int) -> Iterator[Executor]:
    """The executors that run in this family."""
    relatives = family(first)
    for process in relatives:
        if _MAIN_CLASS in process.arguments:
            yield _executor(process, relatives)


def _executor(jvm: SystemProcess, relatives: list[SystemProcess]) -> Executor:
    daemons = [child for child in jvm.children(relatives) if _DAEMON_MODULE in child.arguments]
    workers = [worker for daemon in daemons for worker in daemon.children(relatives)]
    return Executor(
        app_id=_option(jvm, "--app-id"),
        executor_id=_option(jvm, "--executor-id"),
        host=_option(jvm, "--hostname"),
        pid=jvm.pid,
        python_daemons=tuple(daemon.pid for daemon in daemons),
        python_workers=tuple(worker.pid for worker in workers),
    )


def _option(jvm: SystemProcess, name: str) -> str:
    return jvm.arguments[jvm.arguments.index(name) + 1]
