"""The guard itself: run as a file by `guard.py`, standard library only, so that it starts in milliseconds.

Reads lines "watch pid|directory X" and "forget pid|directory X"; when its input ends, kills and removes what is left.
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
    """Waits for the owner's end, then cleans up after it."""
    watched: set[Watched] = set()
    for line in sys.stdin:
        verb, kind, name = line.rstrip("\n").split(" ", 2)
        (watched.add if verb == "watch" else watched.discard)((kind, name))
    for kind, name in watched:
        if kind == "pid":
            kill(int(name))
    remove(name for kind, name in watched if kind == "directory")


def kill(pid: int) -> None:
    """Ends the process, which may have ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def remove(directories: Iterable[str]) -> None:
    """Removes the directories; a process that is being killed may still write, so a second look is taken."""
    for directory in directories:
        for _ in range(20):
            shutil.rmtree(directory, ignore_errors=True)
            if not os.path.exists(directory):  # noqa: PTH110 - pathlib would double the start-up time
                break
            time.sleep(0.05)


if __name__ == "__main__":
    main()
