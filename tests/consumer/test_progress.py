"""progress() tells position, end and lag of each partition, without asking a broker."""

from __future__ import annotations

import threading
import time

import confluent_kafka
import pytest
from confluent_kafka import Producer

from membership_client import Consumer, PartitionProgress, Progress, TopicPartition
from tests.consumer.conftest import NewWorld
from tests.consumer.helpers import Reader, World
from tests.integration.members import eventually

pytestmark = pytest.mark.kafka


def first(reader: Reader, world: World) -> PartitionProgress:
    """Of partition 0."""
    return reader.consumer.progress().partitions[TopicPartition(world.topic, 0)]


def test_lag_is_what_the_application_has_not_got(new_world: NewWorld) -> None:
    """Records that were read ahead count as not read; a commit moves the committed lag only."""
    world = new_world(partitions=1)
    world.produce(10)
    reader = world.join()
    reader.read(4)
    eventually(lambda: first(reader, world).end == 10, "the end is known")
    before = first(reader, world)
    assert (before.position, before.committed, before.lag, before.committed_lag) == (4, None, 6, None)
    reader.consumer.commit(
        offsets=[confluent_kafka.TopicPartition(world.topic, 0, 3)],
        asynchronous=False,
    )
    after = first(reader, world)
    assert (after.position, after.committed, after.lag, after.committed_lag) == (4, 3, 6, 7)
    assert reader.consumer.progress().lag == 6
    reader.read(6)
    assert (first(reader, world).lag, first(reader, world).time_lag_s) == (0, 0.0)


def test_a_partition_of_which_nothing_was_handed_out_yet(new_world: NewWorld) -> None:
    """Its lag counts from the committed offset: a consumer that is stuck at its first record must not look like one without lag."""
    world = new_world(partitions=1)
    world.produce(10)
    with Consumer(world.config()) as former:
        former.commit(offsets=[confluent_kafka.TopicPartition(world.topic, 0, 2)], asynchronous=False)
    reader = world.join()
    eventually(lambda: (reader.consumer._loop.visit_bridge(), reader.owned)[1], "the partition is assigned")
    eventually(lambda: first(reader, world).lag == 8, "librdkafka has fetched records")
    reader.consumer._loop.read_ahead(1, 0.0)
    assert first(reader, world).lag == 8


def test_a_partition_without_records(new_world: NewWorld) -> None:
    """A group of a new topic has no lag, rather than an unknown one."""
    world = new_world(partitions=1)
    reader = world.join()
    eventually(lambda: (reader.poll(), reader.owned)[1], "the partition is assigned")
    eventually(lambda: (reader.poll(), first(reader, world).lag == 0)[1], "the lag is known")
    assert first(reader, world).time_lag_s == 0.0


def test_time_lag_is_the_age_of_the_next_record(new_world: NewWorld) -> None:
    """By its timestamp: here an hour."""
    world = new_world(partitions=1)
    producer = Producer({"bootstrap.servers": world.bootstrap_servers})
    an_hour_ago = int((time.time() - 3600) * 1000)
    for number in range(5):
        producer.produce(world.topic, str(number), partition=0, timestamp=an_hour_ago)
    producer.flush()
    reader = world.join()
    reader.read(1)
    assert reader.consumer.progress().time_lag_s == pytest.approx(3600, abs=100)


def test_time_lag_of_records_that_never_wait(new_world: NewWorld) -> None:
    """consume() takes batches past the buffer; then a timestamp of a batch, noted once a second, tells."""
    world = new_world(partitions=1)
    producer = Producer({"bootstrap.servers": world.bootstrap_servers})
    an_hour_ago = int((time.time() - 3600) * 1000)
    for number in range(4000):
        producer.produce(world.topic, str(number), partition=0, timestamp=an_hour_ago)
    producer.flush()
    reader = world.join()

    def told() -> bool:
        reader.consume(2, 1.0)
        time.sleep(0.05)
        found = first(reader, world)
        at_hand = len(reader.consumer._buffer)
        return not at_hand and bool(found.lag) and (found.time_lag_s or 0.0) > 3500

    eventually(told, "the time lag is known")


def test_a_member_that_was_dropped_has_no_partitions(new_world: NewWorld) -> None:
    """Its partitions are others' by now, although it has not polled since, and two members would tell the lag of one partition."""
    world = new_world(partitions=1)
    world.produce(10)
    reader = world.join({"max.poll.interval.ms": 1000})
    reader.read(1)
    assert reader.consumer.progress().lag is not None
    eventually(lambda: reader.consumer.snapshot.epoch <= 0, "the poll interval is exceeded")
    assert reader.consumer.progress() == Progress({})


def test_an_assignment_of_the_application(new_world: NewWorld) -> None:
    """Without a group it has the same numbers."""
    world = new_world(partitions=1)
    world.produce(10)
    reader = world.reader()
    reader.consumer.assign([confluent_kafka.TopicPartition(world.topic, 0, 1)])
    reader.read(3)
    assert first(reader, world).lag == 6


def test_exporters_do_not_wait_for_librdkafka(new_world: NewWorld) -> None:
    """They get what was known before: a callback of the application inside librdkafka may wait for a lock of the exporter's SDK."""
    world = new_world(partitions=1)
    world.produce(10)
    reader = world.join()
    reader.read(4)
    progress = reader.consumer._runtime.progress
    known = eventually(lambda: progress.for_exporter().lag, "the exporter knows the lag")
    found: list[Progress] = []
    with reader.consumer._librdkafka.lock.calling():
        progress._read_at = float("-inf")
        thread = threading.Thread(target=lambda: found.append(progress.for_exporter()))
        thread.start()
        thread.join(20)
    assert [one.lag for one in found] == [known]
