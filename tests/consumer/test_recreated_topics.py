"""A topic that is deleted and created anew at once: a new topic, whatever its name, and read from its own beginning."""

from __future__ import annotations

import time
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Message

from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import Places, Reader, World, number_of, offset_of
from tests.integration.members import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

OLD, NEW = 30, 40
"""Records of each partition: the old positions exist in the new topic, so that nothing but ids tells the two apart."""

Place = tuple[int, int]
"""Partition and offset."""

CLASSIC = {"group.protocol": "classic", "heartbeat.interval.ms": 200, "metadata.max.age.ms": 1000}
AT_REVOCATION = {"enable.auto.commit": True, "auto.commit.interval.ms": 600_000}


@pytest.mark.parametrize(
    "config",
    [{"group.protocol": "consumer"}, CLASSIC, {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}],
    ids=["consumer", "classic", "cooperative"],
)
def test_a_topic_that_is_created_anew_at_once_is_read_from_its_beginning(
    new_world: NewWorld, config: dict[str, Any]
) -> None:
    """What the members commit when the old partitions are revoked counts for the old ones only, so for nothing."""
    world = new_world(4)
    world.produce(OLD)
    starts: list[Place] = []

    def note_start(consumer: confluent_kafka.Consumer, places: Places) -> None:
        starts.extend((place.partition, place.offset) for place in consumer.committed(places))

    readers = [world.join(AT_REVOCATION | config, assign=note_start) for _ in range(2)]
    world.settle(*readers)
    read_all(readers, OLD, since=0.0)
    recreated_at, before = recreate(world), len(starts)
    world.produce(NEW)
    read_all(readers, NEW, since=recreated_at)
    assert first_of_each(starts[before:]) == dict.fromkeys(range(4), confluent_kafka.OFFSET_INVALID)
    world.settle(*readers)
    for reader in readers:
        reader.consumer.commit(asynchronous=False)
    assert world.committed() == dict.fromkeys(range(4), NEW)


def recreate(world: World) -> float:
    """When the old one was gone, and the new one was not there yet."""
    world.group.admin.delete_topic(world.topic)
    gone_at = time.time()
    world.group.admin.create_topic(world.topic, world.partitions)
    return gone_at


def read_all(readers: list[Reader], count: int, *, since: float) -> None:
    """So many records of each partition that were written since then, from the first on."""
    wanted = {(number, offset) for number in range(4) for offset in range(count)}
    eventually(lambda: (poll(readers), places_of(readers, since) == wanted)[1], f"{count} records of each partition")


def poll(readers: list[Reader]) -> list[Message | None]:
    return [reader.poll(0.01) for reader in readers]


def places_of(readers: list[Reader], since: float) -> set[Place]:
    records = (record for reader in readers for record in reader.records)
    return {(number_of(record), offset_of(record)) for record in records if record.timestamp()[1] >= since * 1000}


def first_of_each(starts: list[Place]) -> dict[int, int]:
    """Later ones may go on from what was read of the new topic meanwhile."""
    return dict(reversed(starts))
