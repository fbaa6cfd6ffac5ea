"""What records come, and from where, while partitions move between consumers."""

from __future__ import annotations

import itertools

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from membership_client import ConfigError, Consumer
from tests.consumer.helpers import Action, Places, Reader, World, in_thread, number_of, offset_of
from tests.integration.members import PATIENCE_S, eventually

pytestmark = pytest.mark.kafka

AUTO_COMMIT = {"enable.auto.commit": True, "auto.commit.interval.ms": 60_000}
"""None in the time of a test but those that a rebalance or a close needs."""


def poll_one(reader: Reader) -> None:
    reader.poll(0.02)


def consume_some(reader: Reader) -> None:
    reader.consume(7, 0.02)


# --- giving up -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fetch", [poll_one, consume_some])
def test_every_record_comes_once_when_partitions_move(world: World, fetch: object) -> None:
    """What was read is committed before the revoke, and what was fetched but not read never comes after it."""
    assert callable(fetch)
    world.produce(300)
    old = world.owner(AUTO_COMMIT)
    old.read(50)
    new = world.join(AUTO_COMMIT)
    for reader in itertools.cycle((old, new)):
        fetch(reader)
        if len(old.records) + len(new.records) >= 1200:
            break
    old.assert_nothing_after_revoke()
    new.assert_nothing_after_revoke()
    assert len(old.owned) == len(new.owned) == 2
    assert sorted(old.places_read + new.places_read) == [(p, o) for p in range(4) for o in range(300)]


def test_what_was_read_is_committed_with_a_revoke(world: World) -> None:
    """What poll() returned, and no more: the next owner starts there."""
    world.produce(20)
    old = world.owner(AUTO_COMMIT)
    old.read(30)
    new = world.join()
    world.settle(old, new)
    (revoked,) = old.events("revoke")
    read, committed = [number for number, _ in old.places_read], world.committed()
    assert {p: committed.get(p, 0) for p in revoked.partitions} == {p: read.count(p) for p in revoked.partitions}


def test_a_revoke_callback_may_commit_by_itself(world: World) -> None:
    """With automatic commits on: they came first, and a commit in the callback had nothing left and raised _NO_OFFSET."""
    world.produce(20)
    old = world.owner(AUTO_COMMIT, revoke=lambda consumer, _: consumer.commit(asynchronous=False))
    old.read(30)
    new = world.join()
    world.settle(old, new)
    assert len(old.events("revoke")) == 1
    world.produce(1, old.owned)
    old.read(1)
    old.consumer.close()
    assert len(old.events("revoke")) == 2


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
@pytest.mark.parametrize(
    "let_go",
    [
        lambda consumer, _: consumer.unassign(),
        lambda consumer, places: consumer.incremental_unassign(places),
        lambda consumer, _: consumer.assign([]),
    ],
    ids=["unassign", "incremental_unassign", "assign"],
)
def test_what_was_read_is_committed_when_the_revoke_callback_unassigns(
    world: World, protocol: str, let_go: Action
) -> None:
    """As most programs for confluent-kafka do: their partitions had no position any more, so nothing was committed."""
    world.produce(5)
    old = world.owner(AUTO_COMMIT | {"group.protocol": protocol}, revoke=let_go)
    old.read(20 - len(old.records))
    old.consumer.close()
    assert world.committed() == dict.fromkeys(range(4), 5)


def test_what_was_read_before_an_assign_of_the_application_is_committed_with_a_revoke(world: World) -> None:
    """While subscribed it moves partitions as seek() does, and librdkafka has no position after it."""
    world.produce(5)
    old = world.owner(AUTO_COMMIT)
    old.read(20 - len(old.records))
    old.consumer.incremental_assign([world.place(number, 5) for number in range(4)])
    old.consumer.close()
    assert world.committed() == dict.fromkeys(range(4), 5)


def test_only_what_was_stored_is_committed_with_a_revoke(world: World) -> None:
    """Where the application stores offsets itself, records that it has not stored come again."""
    world.produce(5)
    old = world.owner(AUTO_COMMIT | {"enable.auto.offset.store": False})
    old.read(20 - len(old.records))
    old.consumer.store_offsets(offsets=[world.place(number, 3) for number in range(4)])
    new = world.join()
    world.settle(old, new)
    (revoked,) = old.events("revoke")
    committed = world.committed()
    assert {number: committed[number] for number in revoked.partitions} == dict.fromkeys(revoked.partitions, 3)
    new.read(4 - len(new.records))
    assert sorted(new.places_read) == [(p, o) for p in sorted(revoked.partitions) for o in (3, 4)]


def test_partitions_go_although_what_was_read_cannot_be_committed(world: World) -> None:
    """The group does not wait for a commit that is refused, and the next owner reads from what was committed before."""
    world.produce(5)
    old = world.owner(AUTO_COMMIT | {"enable.auto.offset.store": False})
    old.read(20 - len(old.records))
    too_long = "x" * 10_000
    stored = [confluent_kafka.TopicPartition(world.topic, number, 3, too_long) for number in range(4)]
    old.consumer.store_offsets(offsets=stored)
    new = world.join()
    world.settle(old, new)
    (revoked,) = old.events("revoke")
    assert world.committed() == {}
    new.read(10 - len(new.records))
    assert sorted(new.places_read) == [(p, o) for p in sorted(revoked.partitions) for o in range(5)]


def test_a_large_batch_under_way_is_returned_before_the_revoke(world: World) -> None:
    """consume() waits for more records than there are: it gives what it has, and lets the rebalance in after that."""
    world.produce(50)
    old = world.owner(AUTO_COMMIT)
    new = world.reader(AUTO_COMMIT)

    def read_in_batches() -> None:
        while len(old.owned) != 2:
            old.consume(100_000, 1.0)

    with in_thread(read_in_batches):
        new.subscribe()
        eventually(lambda: (new.poll(), len(new.owned) == 2)[1], "a share")
    eventually(lambda: (old.poll(), new.poll(), len(old.records) + len(new.records) >= 200)[2], "all records")
    old.assert_nothing_after_revoke()
    assert sorted(old.places_read + new.places_read) == [(p, o) for p in range(4) for o in range(50)]


def test_a_poll_inside_the_revoke_callback_returns_nothing_of_what_is_revoked(world: World) -> None:
    """The others go on there; their records are not lost."""
    inside: list[int] = []

    def poll(consumer: Consumer, _: Places) -> None:
        while len(inside) < 20:
            if (message := consumer.poll(PATIENCE_S)) is None:
                return
            inside.append(number_of(message))

    world.produce(500)
    old = world.owner(revoke=poll)
    new = world.join()
    world.settle(old, new)
    (revoked,) = old.events("revoke")
    assert len(inside) == 20
    assert not revoked.partitions & set(inside)


# --- starting --------------------------------------------------------------------------------------------------------


def test_a_partition_starts_at_what_was_committed(world: World) -> None:
    """Each at its own offset; one of which nothing was committed starts at the beginning."""
    world.produce(10)
    old = world.owner()
    old.consumer.commit(offsets=[world.place(0, 7), world.place(1, 10), world.place(2, 0)], asynchronous=False)
    old.consumer.close()
    new = world.owner()
    new.read(23 - len(new.records))
    firsts = {p: min(o for number, o in new.places_read if number == p) for p in (0, 2, 3)}
    assert firsts == {0: 7, 2: 0, 3: 0}
    assert 1 not in {number for number, _ in new.places_read}


def test_the_latest_start_is_the_end_at_the_time_of_the_assignment(world: World) -> None:
    """Records from before are not read, those from after are."""
    world.produce(5)
    reader = world.owner({"auto.offset.reset": "latest"})
    ends = [world.place(number, 5) for number in range(4)]
    eventually(lambda: (reader.poll(), fetches_from(reader, ends))[1], "a fetcher at the end")
    world.produce(1)
    assert sorted((number_of(m), offset_of(m)) for m in reader.read(4)) == [(p, 5) for p in range(4)]


def fetches_from(reader: Reader, places: Places) -> bool:
    """Does librdkafka know the ends, which it learns with its first fetch?"""
    return all(reader.consumer.get_watermark_offsets(place, cached=True)[1] == place.offset for place in places)


def test_without_a_place_to_start_the_error_comes_as_a_message(world: World) -> None:
    """With auto.offset.reset=error, as confluent-kafka has it."""
    world.produce(1)
    reader = world.join({"auto.offset.reset": "error"})
    with pytest.raises(KafkaException) as caught:
        reader.read(1)
    assert caught.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET


def assign_at(consumer: Consumer, places: Places) -> None:
    consumer.assign([confluent_kafka.TopicPartition(p.topic, p.partition, p.partition + 1) for p in places])


def add_at(consumer: Consumer, places: Places) -> None:
    consumer.incremental_assign([confluent_kafka.TopicPartition(p.topic, p.partition, p.partition + 1) for p in places])


def seek_to(consumer: Consumer, places: Places) -> None:
    for p in places:
        consumer.seek(confluent_kafka.TopicPartition(p.topic, p.partition, p.partition + 1))


@pytest.mark.parametrize("place", [assign_at, add_at, seek_to])
def test_on_assign_decides_where_a_partition_starts(world: World, place: object) -> None:
    """Whichever way it says so, no record from before that place comes."""
    assert callable(place)
    world.produce(6)
    reader = world.owner(assign=place)
    reader.read(14 - len(reader.records))
    assert sorted(reader.places_read) == [(p, o) for p in range(4) for o in range(p + 1, 6)]


def test_what_on_assign_does_not_name_is_not_read(world: World) -> None:
    """assign() with some of the partitions means these only; they are owned all the same."""
    world.produce(3)
    reader = world.owner(assign=lambda consumer, places: consumer.assign([p for p in places if p.partition == 2]))
    reader.read(3 - len(reader.records))
    assert reader.poll(0.5) is None
    assert {number for number, _ in reader.places_read} == {2}
    assert len(reader.owned) == 4


def test_assign_is_refused_for_what_is_not_owned(world: World) -> None:
    """Outside callbacks, in those that take away, and for what a callback is not about; nothing changes by that."""
    refused: list[str] = []

    def misuse(consumer: Consumer, *uses: str) -> None:
        for use in uses:
            with pytest.raises(ConfigError) as caught:
                getattr(consumer, use)([world.place(7, 0)])
            assert isinstance(caught.value, KafkaException)
            refused.append(use)

    every = ("assign", "incremental_assign", "incremental_unassign")
    world.produce(3)
    reader = world.owner(
        assign=lambda consumer, _: misuse(consumer, *every), revoke=lambda consumer, _: misuse(consumer, *every)
    )
    misuse(reader.consumer, *every)
    reader.read(12 - len(reader.records))
    reader.consumer.close()
    assert refused == list(every) * 3
    assert sorted(reader.places_read) == [(p, o) for p in range(4) for o in range(3)]


def test_an_open_transaction_delays_the_start_of_its_partitions(world: World) -> None:
    """The next owner starts where the transaction ends up, and goes on with its other partitions meanwhile.

    The test failed when all records of the other partitions came before the first of this one.
    """
    old, new = world.join(), world.join()
    world.settle(old, new)
    world.produce(10)
    (moving, *_), (staying, *_) = sorted(old.owned), sorted(new.owned)
    producer = Producer({"bootstrap.servers": world.bootstrap_servers, "transactional.id": world.group.id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send_offsets_to_transaction([world.place(moving, 6)], old.consumer.consumer_group_metadata())
    old.consumer.close()
    eventually(lambda: (new.poll(), len(world.group.describe().members) == 1)[1], "the other has left")
    eventually(lambda: (new.poll(), len(new.consumer.snapshot.target) == 4)[1], "an assignment that waits")
    new.consumer.commit(offsets=[world.place(staying, 4)], asynchronous=False)
    assert moving not in new.owned
    producer.commit_transaction()
    world.settle(new)
    new.read(34 - len(new.records))
    assert min(o for number, o in new.places_read if number == moving) == 6
