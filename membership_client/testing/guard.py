"""Ends the processes and removes the directories of this process when it ends, even by SIGKILL.

A small guard process reads from a pipe whose other end only this process holds. The system closes that end when this process
exits, crashes or is killed; then the guard kills the processes and removes the directories that it was told of.
(PR_SET_PDEATHSIG does not do: it acts when the starting *thread* ends, and macOS does not have it.)
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
from pathlib import Path


def watch_process(pid: int) -> None:
    """Kill the process `pid` when this process ends."""
    _send(f"watch pid {pid}")


def forget_process(pid: int) -> None:
    """Forget `pid`, which has ended and was waited for: another process may get its number."""
    _send(f"forget pid {pid}")


def watch_directory(directory: Path) -> None:
    """Remove `directory` when this process ends."""
    _send(f"watch directory {directory}")


def forget_directory(directory: Path) -> None:
    """Forget `directory`, which was removed."""
    _send(f"forget directory {directory}")


def _send(line: str) -> None:
    pipe = _guard().stdin
    assert pipe is not None
    pipe.write(f"{line}\n")
    pipe.flush()


@functools.cache
def _guard() -> subprocess.Popen[str]:
    # In a session of its own, so that Ctrl-C or a kill of this process group does not end the guard.
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", Path(__file__).with_name("guard_process.py")],
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(_end_guard, guard)
    return guard


def _end_guard(guard: subprocess.Popen[str]) -> None:
    """Wait for the guard, so that the clean-up is complete before this process ends."""
    assert guard.stdin is not None
    guard.stdin.close()
    guard.wait()
