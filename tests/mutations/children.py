"""Runs work in a forked process, which tells what it begins, and ends it when one piece of work takes too long."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

MOST_MEMORY = 8 << 30
"""Bytes of address space: a mutant that fills the memory fails by itself."""

Tell = Callable[[Any], None]


def in_child(
    work: Callable[[Tell], object], patience_s: Callable[[Any], float], hear: Callable[[Any], object] = id
) -> tuple[list[Any], bool]:
    """All that `work` told, and whether it came to its end in time. `hear` is called with each of it when it comes.

    What it tells must be followed by more within `patience_s` of it (of None at first), or its process group is killed.
    """
    here, there = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        _run(work, there)
    there.close()
    told: list[Any] = []
    try:
        while here.poll(patience_s(told[-1] if told else None)):
            news = here.recv()
            if news == _ENDED:
                return told, True
            told.append(news)
            hear(news)
    except EOFError:
        pass
    finally:
        _end(child)
        here.close()
    return told, False


_ENDED = "(ended)"


def _run(work: Callable[[Tell], object], there: Connection) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        work(there.send)
        there.send(_ENDED)
        code = 0
    finally:
        os._exit(code)


def _end(child: int) -> None:
    """What its tests started ends with it."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
