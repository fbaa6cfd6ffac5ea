"""A consumer that is assigned other partitions again and again: its data path, ledger and desk keep nothing of the old ones."""

from __future__ import annotations

import tracemalloc

import pytest

from membership_client import Consumer
from tests.consumer.conftest import NewWorld
from tests.hostile.test_mutations import resident
from tests.hostile.test_restless_group import held_now
from tests.integration.members import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

WARM_UP = 50
"""After this number of rounds all bounded stores, such as that of the last steps, are full."""
REBALANCES = 150
CONFIG = {"enable.auto.commit": True, "auto.commit.interval.ms": 60_000, "fetch.wait.max.ms": 10}
"""Brokers answer fetches at once: a fetch of the old topic that waits would delay the new one."""


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_many_rebalances_leave_nothing_behind(new_world: NewWorld, protocol: str) -> None:
    """Neither memory, librdkafka's included, nor threads nor descriptors grow while it reads, commits and changes topics."""
    world = new_world(partitions=2)
    topics = (world.topic, f"{world.topic}-too")
    world.group.create_topic(topics[1], 2)
    for topic in topics:
        world.produce(WARM_UP + REBALANCES, topic=topic)
    reader = world.reader({"group.protocol": protocol, **CONFIG})
    tracemalloc.start()
    change(reader.consumer, topics, WARM_UP)
    before, resident_mb = held_now(), resident()
    change(reader.consumer, topics, REBALANCES)
    after, resident_mb_then = held_now(), resident()
    tracemalloc.stop()
    (memory, threads, descriptors), (memory_then, threads_then, descriptors_then) = before, after
    assert memory_then - memory < 300_000
    assert threads_then <= threads
    assert descriptors_then <= descriptors
    assert resident_mb_then - resident_mb < 20


def change(consumer: Consumer, topics: tuple[str, str], times: int) -> None:
    """To the other topic and back; a record of each comes, and is committed when its partition goes."""
    for number in range(times):
        topic = topics[number % 2]
        consumer.subscribe([topic])
        eventually(lambda topic=topic: comes(consumer, topic), "a record of the new topic")  # type: ignore[misc]


def comes(consumer: Consumer, topic: str) -> bool:
    message = consumer.poll(0.05)
    return message is not None and message.topic() == topic
