"""Ends what this process started, however this process ends.

A small guard process reads from a pipe whose other end only we hold. The system closes that end when we exit, crash or
are killed with SIGKILL, and the guard then kills the processes and removes the directories it was told of.
(Linux' PR_SET_PDEATHSIG would do less: it fires when the starting *thread* ends, and macOS does not have it.)
"""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
from pathlib import Path


def watch_process(pid: int) -> None:
    """From now on the process `pid` ends when this process ends."""
    _tell(f"watch pid {pid}")


def forget_process(pid: int) -> None:
    """`pid` has ended and was waited for; another process may soon have its number."""
    _tell(f"forget pid {pid}")


def watch_directory(directory: Path) -> None:
    """From now on `directory` is removed when this process ends."""
    _tell(f"watch directory {directory}")


def forget_directory(directory: Path) -> None:
    """`directory` is gone."""
    _tell(f"forget directory {directory}")


def _tell(line: str) -> None:
    pipe = _guard().stdin
    assert pipe is not None
    pipe.write(f"{line}\n")
    pipe.flush()


@functools.cache
def _guard() -> subprocess.Popen[str]:
    # A session of its own: a Ctrl-C or a kill of our process group must not take the guard along.
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", Path(__file__).with_name("guard_process.py")],
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(_dismiss, guard)
    return guard


def _dismiss(guard: subprocess.Popen[str]) -> None:
    """Wait for the guard, so that the clean-up is complete before this process ends."""
    assert guard.stdin is not None
    guard.stdin.close()
    guard.wait()
