"""What recording costs: a step, in memory and in a file, and a record while it goes on."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import membership_client
from membership_client.core.machine import Step
from membership_client.trace import Journal
from membership_client.trace.trace_file import TraceFile
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.racer import Racer
from tests.benchmarks.stage import Sizes, Stage
from tests.benchmarks.throughput import PARTITIONS, fill
from tests.trace.test_replay import longest_life

_PASSES = 20
_TURNS = 40


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    stage.say("a long life is recorded again and again")
    steps = longest_life()
    with tempfile.TemporaryDirectory() as directory:
        in_memory_us = _cost_us(steps, None)
        in_file_us = _cost_us(steps, Path(directory) / "steps")
        ratio = _poll_ratio(stage, sizes, Path(directory) / "poll")
    how = f"CPU time of {len(steps)} steps of a simulated member, median of {_PASSES}"
    return [
        Figure(name="recording a step in memory", unit="us", values={"ours": in_memory_us}, how=how),
        Figure(name="recording a step in a file", unit="us", values={"ours": in_file_us}, how=how, limit=Limit(30)),
        Figure(
            name="poll() with a trace file, to without",
            unit="of",
            values={"ours": ratio},
            how=f"CPU per record, medians of {sizes.rounds * _TURNS} turns",
            limit=Limit(at_least=0.98),
        ),
    ]


def _cost_us(steps: list[Step], path: Path | None) -> float:
    file = None if path is None else TraceFile(path, max_bytes=10_000_000, keep=1)
    journal = Journal(steps[0].before, file)
    passes = [_record(journal, steps) for _ in range(_PASSES)]
    journal.close()
    return 1e6 * statistics.median(passes) / len(steps)


def _record(journal: Journal, steps: list[Step]) -> float:
    began_at = time.thread_time()
    for step in steps:
        journal.on_step(step)
    took_s = time.thread_time() - began_at
    # A step that finds no room costs less, and is not what is measured.
    assert journal.flush(60.0)
    return took_s


def _poll_ratio(stage: Stage, sizes: Sizes, path: Path) -> float:
    """Speed with a trace to speed without: above one means that chance was larger than the cost."""
    topic = stage.group("recording", partitions=PARTITIONS).id
    fill(stage, topic, sizes.records)
    configs: tuple[dict[str, str], ...] = ({}, {"trace.file": str(path)})
    racers = [
        Racer(membership_client.Consumer, stage.bootstrap_servers, "ours", topic, sizes.records, more=c)
        for c in configs
    ]
    try:
        costs = [_turns(racers, number) for number in range(sizes.rounds)]
    finally:
        for racer in racers:
            racer.close()
    without, with_trace = (statistics.median(cost for turn in costs for cost in turn[side]) for side in (0, 1))
    return without / with_trace


def _turns(racers: list[Racer], number: int) -> tuple[list[float], list[float]]:
    """CPU per record of each turn, without and with."""
    ready = min(racer.get_ready() for racer in racers)
    costs: tuple[list[float], list[float]] = ([], [])
    for turn in range(_TURNS):
        for side in (0, 1) if (turn + number) % 2 else (1, 0):
            lap = racers[side].run("poll", ready // _TURNS)
            costs[side].append(lap.cpu_s / lap.records)
    return costs
