"""Many seeds in many processes: none is left out, and what goes wrong there is told here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path

import pytest

from membership_client.core import leaving
from tests.simulation.fleet import Fleet, Outcome, cut, play_seeds

ROOT = Path(__file__).parent.parent.parent


def rude(seeds: range) -> Outcome:
    """Members that leave without giving their partitions back first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaving, "_is_giving_back", lambda member: False)
        return play_seeds(seeds)


def dies(seeds: range) -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(0, 0.0, None)


def never_ends(seeds: range) -> Outcome:
    while True:
        pass


@pytest.mark.parametrize("count", [1, 25, 2000, 2010, 100_000])
def test_every_seed_is_in_one_piece(count: int) -> None:
    """In order, and in no more pieces than a test run can list."""
    seeds = range(300, 300 + count)
    pieces = cut(seeds)
    assert [seed for piece in pieces for seed in piece] == list(seeds)
    assert len(pieces) <= 1000


def test_a_failure_in_another_process_is_told_in_full() -> None:
    """The first failing seed of a piece with its shortest script and what happened in it, further ones by number."""
    with closing(Fleet([range(10)], rude)) as fleet:
        outcome = fleet.outcome(range(10))
    assert outcome.seeds == 10
    assert outcome.failure is not None
    assert "pytest tests/simulation --seed" in outcome.failure
    assert "What happened in it" in outcome.failure
    assert "fails too" in outcome.failure


@pytest.mark.parametrize("work", [dies, never_ends])
def test_a_process_that_has_died_is_not_waited_for(work: Callable[[range], Outcome]) -> None:
    """Killed, or ended by itself because a seed does not end: the piece fails, and so do those after it."""
    with closing(Fleet([range(1), range(1, 2)], work, most_processor_s=0.1)) as fleet:
        for piece in (range(1), range(1, 2)):
            with pytest.raises(BrokenProcessPool):
                fleet.outcome(piece)


def test_no_process_outlives_the_one_that_started_it() -> None:
    """Also if that one was killed and could close nothing: whatever shared its output is gone then."""
    program = (
        "from tests.simulation.fleet import Fleet\n"
        "print(Fleet([range(1)]).outcome(range(1)).seeds, flush=True)\n"
        "input()"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "1\n"
        starter.kill()
        assert starter.stdout.read() == ""
