"""Our Consumer and confluent-kafka's read the same records in turns: how fast, at what cost, in how much memory?

Both are in one process, and each round starts with all records fetched ahead: what is compared is what it costs to hand
them out. They take turns every few milliseconds (theirs, ours, ours, theirs), and medians count: whatever else the
machine does then happens to both, or to few of the turns.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import confluent_kafka

import membership_client
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.racer import Lap, Racer, Style
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.peer import PeerKind

_ROOT = Path(__file__).parents[2]
PARTITIONS = 4
STYLES: dict[Style, str] = {"poll": "poll(1.0)", "iterate": "iteration", "consume": "consume(500, 1.0)"}
_AT_LEAST: dict[Style, float] = {"poll": 1.2, "iterate": 1.4, "consume": 0.98}
"""Of confluent-kafka's, which is polled where ours is iterated over."""
_TURNS = 40
"""Of each, in a round."""
_PROCESSES = 3
"""Of each kind, of whose memory the median counts."""


class Side(NamedTuple):
    kind: PeerKind
    consumer: type[confluent_kafka.Consumer]


SIDES = (Side("confluent", confluent_kafka.Consumer), Side("ours", membership_client.Consumer))


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    topic = stage.group("throughput", partitions=PARTITIONS).id
    stage.say(f"{sizes.records} records to read")
    fill(stage, topic, sizes.records)
    racers = {kind: Racer(consumer, stage.bootstrap_servers, kind, topic, sizes.records) for kind, consumer in SIDES}
    try:
        figures = [figure for style in STYLES for figure in _race(stage, sizes, racers, style)]
    finally:
        for racer in racers.values():
            racer.close()
    return [*figures, _memory(stage, topic, sizes.records)]


def fill(stage: Stage, topic: str, records: int) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": stage.bootstrap_servers, "linger.ms": 50, "log_level": 0})
    for number in range(records):
        producer.produce(topic, b"x" * 100, partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


# --- speed -----------------------------------------------------------------------------------------------------------


def _race(stage: Stage, sizes: Sizes, racers: dict[PeerKind, Racer], style: Style) -> list[Figure]:
    laps: dict[PeerKind, list[Lap]] = {kind: [] for kind in racers}
    for number in range(sizes.rounds):
        _run_round({kind: racers[kind] for kind in _turn(list(racers), number)}, style, laps)
        stage.say(f"{style}, round {number + 1} of {sizes.rounds}")
    rates = {kind: statistics.median(lap.records / lap.seconds for lap in ran) for kind, ran in laps.items()}
    costs = {kind: statistics.median(1e6 * lap.cpu_s / lap.records for lap in ran) for kind, ran in laps.items()}
    how = f"median of {len(laps['ours'])} turns, records of 100 bytes, all fetched ahead"
    limit = Limit(at_least=_AT_LEAST[style], of_confluent=True)
    return [
        Figure(name=f"records by {STYLES[style]}", unit="records/s", values=rates, how=how, limit=limit),
        Figure(name="  CPU of the polling thread", unit="us/record", values=costs, how=""),
    ]


def _run_round(racers: dict[PeerKind, Racer], style: Style, laps: dict[PeerKind, list[Lap]]) -> None:
    ready = min(racer.get_ready() for racer in racers.values())
    for number in range(_TURNS):
        for kind in _turn(list(racers), number):
            laps[kind].append(racers[kind].run(style, ready // _TURNS))


def _turn(kinds: list[PeerKind], number: int) -> list[PeerKind]:
    return kinds if number % 2 == 0 else kinds[::-1]


# --- memory ----------------------------------------------------------------------------------------------------------


def _memory(stage: Stage, topic: str, records: int) -> Figure:
    stage.say(f"memory of {_PROCESSES} processes of each kind")
    sizes_mb: dict[PeerKind, list[float]] = {side.kind: [] for side in SIDES}
    for number in range(_PROCESSES):
        for kind in _turn(list(sizes_mb), number):
            sizes_mb[kind].append(_resident_mb(stage, kind, topic, records))
    ours, theirs = statistics.median(sizes_mb["ours"]), statistics.median(sizes_mb["confluent"])
    return Figure(
        name="  memory of a process, beyond confluent-kafka's",
        unit="MB",
        values={"ours": ours - theirs},
        how=f"resident after {records} records: {ours:.1f} MB against {theirs:.1f} MB, medians of {_PROCESSES}",
        limit=Limit(20),
    )


def _resident_mb(stage: Stage, kind: PeerKind, topic: str, records: int) -> float:
    task = {"kind": kind, "bootstrap_servers": stage.bootstrap_servers, "topic": topic, "records": records}
    command = [sys.executable, "-m", "tests.benchmarks.reading_process", json.dumps(task)]
    return float(subprocess.run(command, cwd=_ROOT, check=True, capture_output=True).stdout)
