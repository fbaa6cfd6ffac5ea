"""auto.offset.reset=by_duration: partitions without an offset are read from the records that are young enough."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import World
from tests.integration.members import eventually

pytestmark = pytest.mark.kafka

RESET = {"auto.offset.reset": "by_duration:PT1H"}
MINUTES_AGO = (300, 120, 50, 5)
"""When the records of partition 0 were written; those of partition 1 are all older than the duration."""


@pytest.fixture
def old_world(new_world: NewWorld) -> World:
    """Two partitions with four records each."""
    world = new_world(partitions=2)
    producer = Producer({"bootstrap.servers": world.bootstrap_servers, "log_level": 0})
    for minutes in MINUTES_AGO:
        at_ms = int((time.time() - 60 * minutes) * 1000)
        producer.produce(world.topic, b"record", partition=0, timestamp=at_ms)
        producer.produce(world.topic, b"record", partition=1, timestamp=at_ms - 3_600_000 * 24)
    producer.flush()
    return world


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_without_commits_reads_what_is_young_enough(old_world: World, protocol: str) -> None:
    """Also through consume(). Where no record is young enough it reads from the end on."""
    reader = old_world.owner(RESET | {"group.protocol": protocol})
    old_world.produce(1)
    eventually(lambda: (reader.consume(10), len(reader.records) >= 4)[1], "four records")
    assert sorted(reader.places_read) == [(0, 2), (0, 3), (0, 4), (1, 4)]


def test_what_was_committed_comes_first(old_world: World) -> None:
    """The duration is for partitions of which nothing was committed."""
    other = old_world.reader().consumer
    other.commit(offsets=[old_world.place(0, 1)], asynchronous=False)
    reader = old_world.owner(RESET)
    reader.read(3 - len(reader.records))
    assert reader.places_read == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize("offset", [10_000, None])
def test_an_assignment_of_ones_own(old_world: World, offset: int | None) -> None:
    """From an offset that does not exist, or without one: it is reset, and no error comes out of poll()."""
    reader = old_world.reader(RESET)
    place: dict[str, Any] = {} if offset is None else {"offset": offset}
    reader.consumer.assign([old_world.place(0, **place)])
    reader.read(2)
    assert reader.places_read == [(0, 2), (0, 3)]
