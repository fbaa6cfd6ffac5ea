"""Subscriptions that a Consumer changes, gives up and takes up again."""

from __future__ import annotations

import pytest

from tests.consumer.helpers import Reader, World
from tests.integration.members import eventually

pytestmark = pytest.mark.kafka


def test_pauses_of_partitions_that_stay_survive_and_those_that_return_are_not_paused(world: World) -> None:
    """A rebalance says nothing about partitions that it does not move; a new start is a new start."""
    old = world.owner()
    old.consumer.pause([world.place(number) for number in range(4)])
    new = world.join()
    world.settle(old, new)
    stayed = old.owned
    new.consumer.close()
    world.settle(old)
    world.produce(2)
    old.read(4)
    assert {number for number, _ in old.places_read} == frozenset(range(4)) - stayed
    old.consumer.resume([world.place(number) for number in stayed])
    old.read(4)
    assert sorted(old.places_read) == [(p, o) for p in range(4) for o in range(2)]


def test_a_partition_that_left_before_its_first_record_is_read_when_it_returns(world: World) -> None:
    """Delivery stops before a revoke by a pause: the bug was that librdkafka remembered it, and read it never again."""
    old = world.join()
    eventually(lambda: (old.poll(0), len(old.owned) == 4)[1], "an owner")
    new = world.join()
    world.settle(old, new)
    new.consumer.close()
    world.settle(old)
    world.produce(2)
    old.read(8)
    assert sorted(old.places_read) == [(p, o) for p in range(4) for o in range(2)]


def reader_beside_a_second_topic(world: World) -> tuple[Reader, str]:
    """It has read all of the first topic; the second one has one record."""
    second_topic = f"{world.topic}-2"
    world.group.admin.create_topic(second_topic, 1)
    world.produce(1)
    world.produce(1, [0], second_topic)
    reader = world.owner()
    reader.read(4 - len(reader.records))
    return reader, second_topic


def test_a_pause_of_what_is_not_assigned_has_no_effect_when_it_is(world: World) -> None:
    """As in confluent-kafka: the bug was that its records were read and never handed out."""
    world.produce(3, [0])
    reader = world.reader()
    reader.consumer.pause([world.place(0)])
    assert reader.consumer.paused() == []
    reader.consumer.incremental_assign([world.place(0, 0)])
    reader.read(3)


def test_unsubscribe_gives_back_and_a_new_subscription_starts_over(world: World) -> None:
    """Other topics, other callbacks: the last callbacks of the old ones come first."""
    reader, second_topic = reader_beside_a_second_topic(world)
    reader.consumer.unsubscribe()
    eventually(lambda: (reader.poll(), reader.events("revoke"))[1], "the last callback")
    assert reader.consumer.assignment() == []
    told: list[int] = []
    reader.consumer.subscribe([second_topic], on_assign=lambda _, places: told.extend(p.partition for p in places))
    (record,) = reader.read(1)
    assert (record.topic(), told) == (second_topic, [0])
    assert len(reader.events("assign")) == len(reader.events("revoke")) == 1


def test_a_changed_subscription_moves_only_what_changed(world: World) -> None:
    """Partitions of the topic that stays are neither revoked nor read again."""
    reader, second_topic = reader_beside_a_second_topic(world)
    reader.subscribe(world.topic, second_topic)
    assert [record.topic() for record in reader.read(1)] == [second_topic]
    assert reader.events("revoke") == []
