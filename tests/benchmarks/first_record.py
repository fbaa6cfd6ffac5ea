"""From the construction of a consumer to its first record: what a restart costs those who wait for the next one."""

from __future__ import annotations

import statistics
import time
import uuid

from confluent_kafka import Consumer, Message

from tests.benchmarks.figures import Figure
from tests.benchmarks.racer import Style
from tests.benchmarks.stage import Sizes, Stage
from tests.benchmarks.throughput import PARTITIONS, SIDES, STYLES, Side, fill
from tests.peers.peer import PeerKind

_RECORDS = 2_000


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    topic = stage.group("first-record", partitions=PARTITIONS).id
    fill(stage, topic, _RECORDS)
    return [_measure(stage, sizes, topic, style) for style in STYLES]


def _measure(stage: Stage, sizes: Sizes, topic: str, style: Style) -> Figure:
    taken: dict[PeerKind, list[float]] = {side.kind: [] for side in SIDES}
    for number in range(sizes.rounds + sizes.warm_ups):
        stage.say(f"first record by {STYLES[style]}, round {number + 1} of {sizes.rounds + sizes.warm_ups}")
        for side in SIDES:
            taken[side.kind].append(_start_to_record(stage, side, topic, style))
    return Figure(
        name=f"start to first record by {STYLES[style]}",
        unit="s",
        values={kind: statistics.median(seconds[sizes.warm_ups :]) for kind, seconds in taken.items()},
        how=f"KIP-848, a new group each time, median of {sizes.rounds}",
    )


def _start_to_record(stage: Stage, side: Side, topic: str, style: Style) -> float:
    config = {
        "bootstrap.servers": stage.bootstrap_servers,
        "group.id": f"first-record-{uuid.uuid4().hex[:8]}",
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
    }
    began_at = time.monotonic()
    consumer = side.consumer(config)
    consumer.subscribe([topic])
    # An error is an answer too, of a group that has not heard of its topic yet.
    while not any(record.error() is None for record in _take(consumer, style)):
        pass
    seconds = time.monotonic() - began_at
    consumer.close()
    return seconds


def _take(consumer: Consumer, style: Style) -> list[Message]:
    if style == "consume":
        return consumer.consume(500, 1.0)
    message = consumer.poll(1.0)
    return [] if message is None else [message]
