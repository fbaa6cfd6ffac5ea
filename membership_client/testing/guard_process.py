"""The guard process. `guard.py` runs this file; it imports only the standard library, so that it starts in milliseconds.

It reads lines "watch pid|directory X" and "forget pid|directory X". When its input ends, it kills the processes and removes the
directories that are left.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Watched = tuple[str, str]


def main() -> None:
    """Wait until the owner ends, then clean up."""
    watched: set[Watched] = set()
    for line in sys.stdin:
        verb, kind, name = line.rstrip("\n").split(" ", 2)
        (watched.add if verb == "watch" else watched.discard)((kind, name))
    for kind, name in watched:
        if kind == "pid":
            kill(int(name))
    remove(name for kind, name in watched if kind == "directory")


def kill(pid: int) -> None:
    """Kill the process, if it has not ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def remove(directories: Iterable[str]) -> None:
    """Remove the directories. A process that is being killed may still write, so they are looked at again."""
    for directory in directories:
        for _ in range(20):
            shutil.rmtree(directory, ignore_errors=True)
            if not os.path.exists(directory):  # noqa: PTH110 - pathlib would double the start-up time
                break
            time.sleep(0.05)


if __name__ == "__main__":
    main()
