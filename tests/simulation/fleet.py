"""Plays seeds in as many processes as there are cores."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Thread

from tests.simulation.generate import script_of
from tests.simulation.play import FailedRunError, play
from tests.simulation.report import describe_failures

PIECES_AHEAD = 3
"""Pieces per process that are handed out in advance, so that no process is ever without work."""
MOST_PROCESSOR_S = 120.0
"""The limit for one piece: many times what it takes, including the search for a shorter failing script."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of some seeds: how many were played, in how much of a processor's time, and the failure if there is one."""

    seeds: int
    processor_s: float
    failure: str | None


def play_seeds(seeds: range) -> Outcome:
    """Play all these seeds, also after a failure."""
    began_at, failures = time.process_time(), []
    for seed in seeds:
        try:
            play(script_of(seed))
        except FailedRunError as failure:
            failures.append(failure)
    text = describe_failures(failures) if failures else None
    return Outcome(len(seeds), time.process_time() - began_at, text)


def cut(seeds: range) -> list[range]:
    """Split seeds into pieces: large enough for few tests, small enough to see how a long run goes on."""
    size = min(100, max(25, len(seeds) // 100))
    return [seeds[first : first + size] for first in range(0, len(seeds), size)]


class Fleet:
    """Processes that play one piece each, in the given order, a little ahead of the caller; close it at the end."""

    def __init__(
        self,
        pieces: Sequence[range],
        work: Callable[[range], Outcome] = play_seeds,
        most_processor_s: float = MOST_PROCESSOR_S,
    ) -> None:
        self._pieces = pieces
        self._task = partial(_do, work, most_processor_s)
        self._processes = os.cpu_count() or 1
        # The tests around us have threads, and a fork copies the locks that these hold.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self._processes, context, _begin)
        self._under_way: dict[range, Future[Outcome]] = {}

    def outcome(self, piece: range) -> Outcome:
        """Wait for the outcome of a piece. Raises BrokenProcessPool if a process died, by itself or because a seed did not end."""
        at = self._pieces.index(piece)
        for ahead in self._pieces[at : at + PIECES_AHEAD * self._processes]:
            if ahead not in self._under_way:
                self._under_way[ahead] = self._pool.submit(self._task, ahead)
        return self._under_way[piece].result()

    def close(self) -> None:
        """Pieces that have begun are played to their end."""
        self._pool.shutdown(cancel_futures=True)


# --- in the other processes ------------------------------------------------------------------------------------------


def _begin() -> None:
    # An interrupt is for the process that started this one, and that then closes the fleet.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The alarm of `_do` ends the process; before that, it tells where the process was.
    faulthandler.register(signal.SIGVTALRM, chain=True)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do(work: Callable[[range], Outcome], most_processor_s: float, piece: range) -> Outcome:
    """Dies if that takes far too much of a processor's time: the run must not wait for a seed that does not end."""
    signal.setitimer(signal.ITIMER_VIRTUAL, most_processor_s)
    return work(piece)
