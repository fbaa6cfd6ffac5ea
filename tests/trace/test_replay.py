"""Every run can be replayed through the state machine, from its trace alone."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from unittest import mock

import pytest

from membership_client.core.machine import Step
from membership_client.debugger.commands.replay_command import replay
from membership_client.trace import Journal, TraceError, read_trace
from membership_client.trace.trace_file import TraceFile
from tests.simulation.generate import script_of
from tests.simulation.play import play


@functools.lru_cache(maxsize=1)
def lives(seed: int) -> dict[int, list[Step]]:
    """The steps of each member of a simulated group in trouble. Tests that ask for the same seed one after the other share them."""
    found: dict[int, list[Step]] = defaultdict(list)
    current: dict[str, int] = {}
    for _, who, entry in play(script_of(seed)).record.entries:
        if not isinstance(entry, Step):
            continue
        if not any(steps and steps[-1].after is entry.before for steps in [found[current.get(who, -1)]]):
            current[who] = len(found)
        found[current[who]].append(entry)
    return {number: steps for number, steps in found.items() if steps}


@functools.cache
def longest_life() -> list[Step]:
    """The longest of several runs, with more steps than a journal keeps in memory."""
    return max((steps for seed in range(12) for steps in lives(seed).values()), key=len)


def recorded(steps: list[Step], path: Path, max_bytes: int = 10**9) -> list[Path]:
    """The files that a journal writes of these steps, the oldest first. Its clock is that of the first step.

    By the machine's clock the first header would be later than all steps, as in a trace that was saved afterwards.
    """
    clock = mock.Mock(wraps=time, monotonic=lambda: steps[0].at, time=lambda: 1_800_000_000.0 + steps[0].at)
    with mock.patch("membership_client.trace.journal.time", clock):
        journal = Journal(steps[0].before, TraceFile(path, max_bytes=max_bytes, keep=99))
        for step in steps:
            journal.on_step(step)
        journal.close()
    return [*sorted(path.parent.glob(f"{path.name}.*"), key=lambda p: -int(p.suffix[1:])), path]


@pytest.mark.parametrize("seed", range(40))
def test_a_trace_replays_exactly(seed: int, tmp_path: Path) -> None:
    """This holds for all troubles: faults, fences, conflicts of instance ids, leaves, callbacks that raise."""
    for number, steps in lives(seed).items():
        (path,) = recorded(steps, tmp_path / f"{number}.jsonl")
        (section,) = read_trace(path)
        outcome = replay(section)
        assert outcome.divergence is None
        assert outcome.steps == len(steps)
        assert outcome.member.owned == steps[-1].after.owned


@pytest.fixture(scope="module")
def classic_traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    classic = range(2, 60, 3)
    folder = tmp_path_factory.mktemp("classic")
    lived = (steps for seed in classic for steps in lives(seed).values())
    return [recorded(steps, folder / f"{number}.jsonl")[0] for number, steps in enumerate(lived)]


@pytest.mark.parametrize("hashes", ["1", "2"])
def test_a_trace_replays_in_another_process(hashes: str, classic_traces: list[Path]) -> None:
    """The order of sets differs there: an assignment of a classic leader once came out in another order."""
    command = [sys.executable, "-m", "membership_client", "replay", *map(str, classic_traces)]
    environment = os.environ | {"PYTHONHASHSEED": hashes}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_part_of_a_rotated_trace_replays_on_its_own(tmp_path: Path) -> None:
    """Each file begins with the member at that time."""
    steps = longest_life()
    parts = recorded(steps, tmp_path / "trace", max_bytes=10_000)
    assert len(parts) > 2
    outcomes = [replay(section) for part in parts for section in read_trace(part)]
    assert [outcome.divergence for outcome in outcomes] == [None] * len(outcomes)
    assert sum(outcome.steps for outcome in outcomes) == len(steps)
    assert outcomes[-1].member.owned == steps[-1].after.owned


def test_what_is_in_memory_replays_too(tmp_path: Path) -> None:
    """It begins in the middle of the run, with the member at that time, and is bounded."""
    steps = longest_life()
    journal = Journal(steps[0].before)
    for step in steps:
        journal.on_step(step)
    journal.save(tmp_path / "saved")
    (section,) = read_trace(tmp_path / "saved")
    assert 100 <= len(section.entries) <= 200
    assert replay(section).divergence is None


def test_the_first_step_that_comes_out_differently_is_named(tmp_path: Path) -> None:
    """The error has its line, the recorded value and the new one."""
    steps = max(lives(3).values(), key=len)
    (path,) = recorded(steps, tmp_path / "trace")
    lines = path.read_text().splitlines(keepends=True)
    changed = next(i for i, line in enumerate(lines) if '"state":"STABLE"' in line)
    lines[changed] = lines[changed].replace('"state":"STABLE"', '"state":"ACK"')
    path.write_text("".join(lines))
    (section,) = read_trace(path)
    divergence = replay(section).divergence
    assert divergence is not None
    assert str(divergence) == f"line {changed + 1}: state was ACK, and is STABLE when replayed"


def test_an_event_that_this_version_does_not_know_is_refused(tmp_path: Path) -> None:
    """The error has the line, and the version that wrote it."""
    steps = max(lives(3).values(), key=len)
    (path,) = recorded(steps, tmp_path / "trace")
    path.write_text(path.read_text().replace('"is":"Tick"', '"is":"Tock"'))
    (section,) = read_trace(path)
    with pytest.raises(
        TraceError, match=r"line \d+: 'Tock' is missing, or this version does not know it; it was written by version"
    ):
        replay(section)
