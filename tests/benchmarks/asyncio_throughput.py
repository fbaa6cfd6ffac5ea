"""aio.Consumer and confluent-kafka's AIOConsumer read the same records in turns, on one event loop: how fast?

As in `throughput.py`, each round starts with all records fetched ahead, they take turns every few milliseconds, and medians count.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from typing import Any

from confluent_kafka.aio import AIOConsumer

from membership_client import aio
from tests.benchmarks.asyncio_racer import AsyncioRacer, Style
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.racer import Lap
from tests.benchmarks.stage import Sizes, Stage
from tests.benchmarks.throughput import PARTITIONS, fill
from tests.peers.peer import PeerKind

_KINDS: dict[PeerKind, Callable[[dict[str, Any]], Any]] = {"confluent": AIOConsumer, "ours": aio.Consumer}
_NAMES: dict[Style, str] = {"poll": "await poll(1.0)", "consume": "await consume(500, 1.0)"}
_AT_LEAST: dict[Style, float] = {"poll": 1.5, "consume": 1.5}
"""Of AIOConsumer's."""
_SHARE: dict[Style, int] = {"poll": 20, "consume": 1}
"""One record in so many is read in a round: AIOConsumer's poll() takes a turn of a thread for each."""
_TURNS = 40
"""Of each, in a round."""


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    topic = stage.group("asyncio-throughput", partitions=PARTITIONS).id
    stage.say(f"{sizes.records} records to read with asyncio")
    fill(stage, topic, sizes.records)
    return asyncio.run(_measure(stage, sizes, topic))


async def _measure(stage: Stage, sizes: Sizes, topic: str) -> list[Figure]:
    racers = {kind: AsyncioRacer(make, stage.bootstrap_servers, topic, sizes.records) for kind, make in _KINDS.items()}
    try:
        for racer in racers.values():
            await racer.start()
        return [await _race(stage, sizes, racers, style) for style in _NAMES]
    finally:
        for racer in racers.values():
            await racer.close()


async def _race(stage: Stage, sizes: Sizes, racers: dict[PeerKind, AsyncioRacer], style: Style) -> Figure:
    laps: dict[PeerKind, list[Lap]] = {kind: [] for kind in racers}
    for number in range(sizes.rounds):
        await _run_round(racers, style, laps)
        stage.say(f"asyncio, {style}, round {number + 1} of {sizes.rounds}")
    return Figure(
        name=f"records by {_NAMES[style]}",
        unit="records/s",
        values={kind: statistics.median(lap.records / lap.seconds for lap in ran) for kind, ran in laps.items()},
        how=f"median of {len(laps['ours'])} turns beside AIOConsumer, records of 100 bytes, all fetched ahead",
        limit=Limit(at_least=_AT_LEAST[style], of_confluent=True),
    )


async def _run_round(racers: dict[PeerKind, AsyncioRacer], style: Style, laps: dict[PeerKind, list[Lap]]) -> None:
    ready = min([await racer.get_ready() for racer in racers.values()]) // _SHARE[style]
    for number in range(_TURNS):
        for kind in list(racers) if number % 2 == 0 else reversed(racers):
            laps[kind].append(await racers[kind].run(style, max(1, ready // _TURNS)))
