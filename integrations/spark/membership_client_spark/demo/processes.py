"""Processes as /proc has them, and families of them: all that one process of ours started, directly or not.

A family is a session in the system's sense. A child may change its parent (when that dies) and its process group (Spark's
Python daemons do), but not its session: nothing that a Worker or a driver ever started can escape being found.
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
_ENDED = "ZX"
_PAUSED = "T"


@dataclass(frozen=True, slots=True)
class Process:
    """One process at the moment it was looked at. `session` is the pid of the family's first."""

    pid: int
    parent: int
    session: int
    state: str
    arguments: tuple[str, ...]

    @property
    def is_paused(self) -> bool:
        """By SIGSTOP."""
        return self.state == _PAUSED

    def children(self, relatives: list[Process]) -> list[Process]:
        """Those of `relatives` that it started itself."""
        return [process for process in relatives if process.parent == self.pid]


def family(first: int) -> list[Process]:
    """All living processes of the family; `first` must have been started with a session of its own."""
    return [process for process in _everyone() if process.session == first and process.state not in _ENDED]


def signal_family(first: int, number: signal.Signals) -> None:
    """Signals everyone who is there now. Nothing is awaited."""
    for process in family(first):
        send(process.pid, number)


def end_family(first: int) -> None:
    """SIGKILL, until nobody is left, not even a child that was being born. `first` must not have been waited for yet."""
    give_up_at = time.monotonic() + _KILL_TIMEOUT_S
    while left := family(first):
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"Not gone {_KILL_TIMEOUT_S} s after SIGKILL: {left}.")
        signal_family(first, signal.SIGKILL)
        time.sleep(0.01)


def send(pid: int, number: signal.Signals) -> None:
    """Signals a process that may have ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def is_running(pid: int) -> bool:
    """Neither gone nor a zombie."""
    process = look(pid)
    return process is not None and process.state not in _ENDED


def look(pid: int) -> Process | None:
    """None if it is gone."""
    return _read(Path("/proc", str(pid)))


def _everyone() -> Iterator[Process]:
    for directory in Path("/proc").glob("[0-9]*"):
        process = _read(directory)
        if process is not None:
            yield process


def _read(directory: Path) -> Process | None:
    # A process may end between two looks: its files are then gone, or end in the middle.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        # The second field is the program's name, and may itself contain spaces and brackets.
        state, parent, _, session, *_ = (directory / "stat").read_text(errors="replace").rpartition(")")[2].split()
        arguments = (directory / "cmdline").read_text(errors="replace").split("\0")
        return Process(int(directory.name), int(parent), int(session), state, tuple(arguments))
    return None
