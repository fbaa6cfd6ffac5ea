"""Where an asyncio consumer reads, without a group and within one, and what it asks the cluster."""

from __future__ import annotations

import asyncio
import time

import confluent_kafka
import pytest
from confluent_kafka import KafkaException, Producer

from membership_client import ConfigError, TopicPartition, aio
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage, offsets, read, run
from tests.integration.members import PATIENCE_S

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_partitions_that_the_application_assigns(new_stage: NewStage) -> None:
    """Without a group: all at once, one more, one less, and none."""
    stage = new_stage(partitions=2)
    stage.produce(3)

    async def story() -> None:
        async with stage.consumer() as consumer:
            await consumer.assign([stage.place(0, 1)])
            assert offsets(await read(consumer, 2)) == [1, 2]
            await consumer.incremental_assign([stage.place(1, 2)])
            (message,) = await read(consumer, 1)
            assert (message.partition(), message.offset()) == (1, 2)
            await consumer.incremental_unassign([stage.place(0)])
            assert [place.partition for place in await consumer.assignment()] == [1]
            assert await consumer.commit() == [stage.place(1, 3)]
            await consumer.unassign()
            assert await consumer.assignment() == []
        assert await asyncio.to_thread(stage.committed, 1) == 3

    run(story())


def test_on_assign_says_where_to_start(new_stage: NewStage) -> None:
    """A callback awaits assign(), as in AIOConsumer."""
    stage = new_stage(partitions=1)
    stage.produce(5)

    async def on_assign(consumer: aio.Consumer, partitions: list[confluent_kafka.TopicPartition]) -> None:
        await consumer.assign([stage.place(place.partition, 3) for place in partitions])

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_assign=on_assign)
            assert offsets(await read(consumer, 2)) == [3, 4]

    run(story())


def test_beginning_end_and_time(new_stage: NewStage) -> None:
    """Of the partitions that are named, or of all; a time after the last record is the end."""
    stage = new_stage(partitions=2)
    producer = Producer({"bootstrap.servers": stage.group.bootstrap_servers})
    for number in range(10):
        producer.produce(stage.topic, b"record", partition=number % 2, timestamp=1_000_000 + number)
    producer.flush()

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            await read(consumer, 10)
            await consumer.seek_to_beginning(TopicPartition(stage.topic, 0))
            assert offsets(await read(consumer, 5)) == [0, 1, 2, 3, 4]
            await consumer.seek_to_time(1_000_006)
            assert sorted((m.partition(), m.offset()) for m in await read(consumer, 4)) == [
                (0, 3),
                (0, 4),
                (1, 3),
                (1, 4),
            ]
            await consumer.seek_to_beginning()
            await consumer.seek_to_end(stage.place(0))
            assert {m.partition() for m in await read(consumer, 5)} == {1}
            await consumer.seek_to_time(int(time.time() * 1000), *await consumer.assignment())
            assert await consumer.getone(timeout_s=0.2) is None

    run(story())


def test_a_seek_that_cannot_be_made(new_stage: NewStage) -> None:
    """A partition that does not exist, or that is not ours, is an error and not silence."""
    stage = new_stage(partitions=1)

    async def story() -> None:
        async with stage.consumer() as consumer:
            await consumer.assign([stage.place(0, 0)])
            with pytest.raises(KafkaException):
                await consumer.seek_to_end(TopicPartition(stage.topic, 7), timeout_s=2)
            with pytest.raises(ConfigError, match="timestamp_ms"):
                await consumer.seek_to_time(-1)

    run(story())


def test_what_the_cluster_has(new_stage: NewStage) -> None:
    """Watermarks, offsets of times, topics and its id, asked by a consumer that has neither partitions nor a group."""
    stage = new_stage(partitions=2)
    stage.produce(4, partitions=[1])

    async def story() -> None:
        async with stage.consumer() as consumer:
            assert await consumer.get_watermark_offsets(stage.place(1)) == (0, 4)
            assert await consumer.get_watermark_offsets(TopicPartition(stage.topic, 0), cached=True) == (-1001, -1001)
            (found,) = await consumer.offsets_for_times([stage.place(1, 0)])
            assert (found.partition, found.offset) == (1, 0)
            assert set((await consumer.list_topics(stage.topic)).topics[stage.topic].partitions) == {0, 1}
            assert stage.topic in (await consumer.list_topics()).topics
            assert await consumer.cluster_id()

    run(story())


def test_what_is_paused(new_stage: NewStage) -> None:
    """What the application has paused, and not what a rebalance stops for a moment; it can be handed to resume()."""
    stage = new_stage(partitions=2)
    stage.produce(2)

    async def story() -> None:
        during_revoke: list[list[confluent_kafka.TopicPartition]] = []
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_revoke=lambda consumer, _: during_revoke.append(consumer.paused()))
            await read(consumer, 4)
            await consumer.pause([stage.place(1)])
            assert consumer.paused() == [stage.place(1)]
            await consumer.seek_to_beginning()
            assert consumer.paused() == [stage.place(1)]
            assert {m.partition() for m in await read(consumer, 2)} == {0}
            assert await consumer.getone(timeout_s=0.2) is None
            await consumer.resume(consumer.paused())
            assert consumer.paused() == []
            assert {m.partition() for m in await read(consumer, 2)} == {1}
            await consumer.pause([stage.place(0)])
        assert during_revoke == [[stage.place(0)]]
        assert consumer.paused() == []

    run(story())


def test_what_is_subscribed(stage: Stage) -> None:
    """Topics or patterns, as they were given; nothing before and after."""

    async def story() -> None:
        async with stage.consumer() as consumer:
            assert consumer.subscription() == frozenset()
            consumer.subscribe([stage.topic])
            assert consumer.subscription() == {stage.topic}
            consumer.subscribe([f"^{stage.topic}$", "other"])
            assert consumer.subscription() == {f"^{stage.topic}$", "other"}
            await consumer.unsubscribe()
            assert consumer.subscription() == frozenset()

    run(story())


def test_partitions_one_by_one(new_stage: NewStage) -> None:
    """Only what is named comes, in order; what others wait for stays in line, and positions know it."""
    stage = new_stage(partitions=3)
    stage.produce(20)

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            second = [await consumer.getone(TopicPartition(stage.topic, 1), timeout_s=PATIENCE_S) for _ in range(5)]
            assert [(m.partition(), m.offset()) for m in second if m is not None] == [(1, n) for n in range(5)]
            two = list[tuple[int | None, int | None]]()
            while len(two) < 35:
                some = await consumer.getmany(stage.place(0), stage.place(1), max_records=7, timeout_s=PATIENCE_S)
                two += [(m.partition(), m.offset()) for m in some]
            assert sorted(two) == [(0, n) for n in range(20)] + [(1, n) for n in range(5, 20)]
            assert [n for partition, n in two if partition == 1] == list(range(5, 20))
            assert await consumer.getone(stage.place(0), timeout_s=0.1) is None
            assert [place.offset for place in await consumer.position(list(map(stage.place, range(3))))] == [
                20,
                20,
                -1001,
            ]
            assert offsets(await read(consumer, 20)) == list(range(20))
            with pytest.raises(ConfigError, match=r"timeout_s=1\.5"):
                await consumer.getone(1.5)  # type: ignore[arg-type]

    run(story())


def test_records_that_are_not_awaited_do_not_pile_up(new_stage: NewStage) -> None:
    """While one partition is awaited, others are fetched up to a number of records, and go on when they are awaited."""
    stage = new_stage(partitions=2)
    stage.produce(6000, partitions=[0])

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            assert await consumer.getone(stage.place(1), timeout_s=2) is None
            assert 0 < len(consumer._fetcher._buffer) < 4000
            await asyncio.to_thread(stage.produce, 1, [1])
            assert await consumer.getone(stage.place(1), timeout_s=PATIENCE_S) is not None
            assert consumer.paused() == []
            assert offsets(await read(consumer, 6000)) == list(range(6000))

    run(story())


def test_one_task_for_each_partition(new_stage: NewStage) -> None:
    """Each has the records of its own, all of them, in order, although all share one consumer."""
    stage = new_stage(partitions=3)
    stage.produce(1200)

    async def story() -> None:
        seen: dict[int, list[int | None]] = {0: [], 1: [], 2: []}
        async with stage.consumer() as consumer, asyncio.timeout(PATIENCE_S):

            async def follow(number: int) -> None:
                while len(seen[number]) < 1200:
                    if (message := await consumer.getone(stage.place(number))) is not None:
                        seen[number].append(message.offset())

            consumer.subscribe([stage.topic])
            await asyncio.gather(*map(follow, seen))
        assert all(found == list(range(1200)) for found in seen.values())

    run(story())
