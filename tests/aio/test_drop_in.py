"""Programs written for confluent_kafka.aio.AIOConsumer, which change their import and nothing else."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import json
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.aio import AIOConsumer

from membership_client import MemberState, aio
from membership_client.confluent import aio as drop_in
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage, run
from tests.integration.members import PATIENCE_S

pytestmark = pytest.mark.kafka

KINDS = pytest.mark.parametrize(
    "kind", [AIOConsumer, aio.Consumer, drop_in.AIOConsumer], ids=["theirs", "ours", "drop-in"]
)


async def diary_of(kind: type[Any], stage: Stage) -> list[Any]:
    """What a program that uses all of AIOConsumer's usual calls notes down."""
    noted: list[Any] = []

    async def on_assign(consumer: Any, partitions: list[Any]) -> None:
        noted.append(("assigned", isinstance(consumer, kind), sorted(place.partition for place in partitions)))
        await consumer.incremental_assign(partitions)

    async def on_revoke(_consumer: Any, partitions: list[Any]) -> None:
        noted.append(("revoked", sorted(place.partition for place in partitions)))

    async with kind({**stage.config(), "group.protocol": "consumer"}) as consumer:
        await consumer.subscribe([stage.topic], on_assign=on_assign, on_revoke=on_revoke)
        first = None
        while first is None:
            first = await consumer.poll(timeout=1.0)
        noted.append(("first", first.offset()))
        batch = await consumer.consume(num_messages=9, timeout=PATIENCE_S)
        noted.append(("batch", [message.offset() for message in batch]))
        noted.append(("nothing", await consumer.poll(0.05), await consumer.consume(5, 0.05)))
        noted.append(("position", [place.offset for place in await consumer.position(await consumer.assignment())]))
        noted.append(("committed", [place.offset for place in await consumer.commit(first, asynchronous=False)]))
        found = await consumer.committed([stage.place(0)], timeout=PATIENCE_S)
        noted.append(("found", [place.offset for place in found]))
        await consumer.pause([stage.place(0)])
        await consumer.seek(stage.place(0, 7))
        noted.append(("paused", await consumer.poll(0.3)))
        await consumer.resume([stage.place(0)])
        noted.append(("again", [message.offset() for message in await consumer.consume(3, PATIENCE_S)]))
        noted.append(("watermarks", await consumer.get_watermark_offsets(stage.place(0), timeout=PATIENCE_S)))
        noted.append(("topics", stage.topic in (await consumer.list_topics(timeout=PATIENCE_S)).topics))
        noted.append(("metadata", isinstance(await consumer.consumer_group_metadata(), bytes)))
        noted.append(("id", bool(await consumer.cluster_id())))
        with pytest.raises(KafkaException):
            await consumer.store_offsets(message=first)
    return noted


def test_one_program_for_both(new_stage: NewStage) -> None:
    """It notes the same down with either library."""

    async def story() -> None:
        diaries = []
        for kind in (AIOConsumer, aio.Consumer, drop_in.AIOConsumer):
            stage = new_stage(partitions=1)
            await asyncio.to_thread(stage.produce, 10)
            async with asyncio.timeout(PATIENCE_S):
                diaries.append(await diary_of(kind, stage))
        assert diaries[0] == diaries[1] == diaries[2]
        assert ("batch", list(range(1, 10))) in diaries[1]

    run(story())


@KINDS
def test_functions_of_the_configuration(kind: type[Any], new_stage: NewStage) -> None:
    """Statistics and outcomes of commits come to coroutines on the loop."""
    stage = new_stage(partitions=1)
    stage.produce(3)
    told: list[str] = []

    async def on_commit(error: Any, places: list[Any]) -> None:
        assert asyncio.get_running_loop().is_running()
        told.append(f"commit {error} {[place.offset for place in places]}")

    async def on_statistics(text: str) -> None:
        if json.loads(text)["type"] == "consumer":
            told.append("statistics")

    async def story() -> None:
        more = {"statistics.interval.ms": 50, "stats_cb": on_statistics, "on_commit": on_commit}
        async with asyncio.timeout(PATIENCE_S), kind({**stage.config(), **more}) as consumer:
            await consumer.subscribe([stage.topic])
            assert len(await consumer.consume(3, PATIENCE_S)) == 3
            await consumer.commit(asynchronous=True)
            while not {"statistics", "commit None [3]"} <= set(told):
                await consumer.poll(0.05)

    run(story())


def test_what_a_function_of_the_configuration_raises(new_stage: NewStage) -> None:
    """The loop's exception handler has it, and records go on."""
    stage = new_stage(partitions=1)
    stage.produce(1)
    raised: list[Any] = []

    def fail(_text: str) -> None:
        raise LookupError("statistics")

    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context["exception"]))
        async with aio.Consumer({**stage.config(), "statistics.interval.ms": 50, "stats_cb": fail}) as consumer:
            consumer.subscribe([stage.topic])
            assert await consumer.getone(timeout_s=PATIENCE_S) is not None
            while not raised:
                await consumer.getone(timeout_s=0.05)
        assert {type(error) for error in raised} == {LookupError}

    run(story())


def test_exactly_once(new_stage: NewStage) -> None:
    """The group's metadata goes into a transaction, whether it was awaited or not."""
    stage = new_stage(partitions=1)
    stage.produce(2)

    async def story() -> None:
        producer = Producer({"bootstrap.servers": stage.group.bootstrap_servers, "transactional.id": stage.group.id})
        await asyncio.to_thread(producer.init_transactions, PATIENCE_S)
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            assert len(await consumer.consume(2, PATIENCE_S)) == 2
            for offset, metadata in (
                (1, consumer.consumer_group_metadata()),
                (2, await consumer.consumer_group_metadata()),
            ):
                producer.begin_transaction()
                await asyncio.to_thread(
                    producer.send_offsets_to_transaction, [stage.place(0, offset)], metadata, PATIENCE_S
                )
                await asyncio.to_thread(producer.commit_transaction, PATIENCE_S)
            assert await consumer.committed([stage.place(0)]) == [stage.place(0, 2)]

    run(story())


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
@pytest.mark.parametrize("kind", [AIOConsumer, drop_in.AIOConsumer], ids=["theirs", "drop-in"])
def test_the_drop_in_in_a_group_of_two(kind: type[Any], protocol: str, new_stage: NewStage) -> None:
    """It shares the partitions, commits without being told to wait, and a closed one refuses calls, as confluent-kafka's does."""
    stage = new_stage(partitions=2)
    config = {**stage.config(), "group.protocol": protocol}

    async def story() -> None:
        with pytest.raises(ValueError, match="max_workers must be at least 1"):
            kind(config, max_workers=0)
        async with asyncio.timeout(2 * PATIENCE_S), kind(config) as stays:
            with concurrent.futures.ThreadPoolExecutor(4) as executor:
                goes = kind(consumer_conf=dict(config), executor=executor)
                for consumer in (stays, goes):
                    await consumer.subscribe([stage.topic])
                while [len(await consumer.assignment()) for consumer in (stays, goes)] != [1, 1]:
                    await asyncio.gather(stays.poll(0.1), goes.poll(0.1))
                await asyncio.to_thread(stage.produce, 1)
                while (record := await stays.poll(1.0)) is None:
                    pass
                assert await stays.commit(record) is None
                assert [place.offset for place in await stays.commit(record, asynchronous=False)] == [1]
                await goes.close()
            with pytest.raises(RuntimeError, match="Consumer closed"):
                await goes.poll(0.1)
            while len(await stays.assignment()) < 2:
                await stays.poll(0.1)

    run(story())


def test_the_drop_in_is_a_member_of_ours(new_stage: NewStage) -> None:
    """The bug: the class was confluent-kafka's, which has no snapshot, and no membership that outlives a slow record."""
    stage = new_stage(partitions=1)

    async def story() -> None:
        async with asyncio.timeout(PATIENCE_S), drop_in.AIOConsumer(stage.config()) as consumer:
            await consumer.subscribe([stage.topic])
            while consumer.snapshot.state is not MemberState.STABLE:
                await consumer.poll(0.1)

    run(story())


@pytest.mark.parametrize("kind", [AIOConsumer, drop_in.AIOConsumer], ids=["theirs", "drop-in"])
def test_all_calls_of_the_drop_in_are_coroutines(kind: type[Any], new_stage: NewStage) -> None:
    """The bug: subscribe() and consumer_group_metadata() could be awaited, but not be made tasks of."""
    stage = new_stage(partitions=1)

    async def story() -> None:
        async with asyncio.timeout(PATIENCE_S), kind(stage.config()) as consumer:
            await asyncio.create_task(consumer.subscribe([stage.topic]))
            assert type(await asyncio.create_task(consumer.consumer_group_metadata())) is bytes

    run(story())


@pytest.mark.parametrize("kind", [AIOConsumer, drop_in.AIOConsumer], ids=["theirs", "drop-in"])
def test_a_callback_of_the_drop_in_may_poll(kind: type[Any], new_stage: NewStage) -> None:
    """It gets no record. The bug: ours raised a ConfigError, so that on_assign was repeated for ever."""
    stage = new_stage(partitions=1)
    got: list[Any] = []

    async def on_assign(consumer: Any, _partitions: list[Any]) -> None:
        got.extend([await consumer.poll(0.01), await consumer.consume(5, 0.01)])

    async def story() -> None:
        await asyncio.to_thread(stage.produce, 3)
        async with asyncio.timeout(PATIENCE_S), kind(stage.config()) as consumer:
            await consumer.subscribe([stage.topic], on_assign=on_assign)
            while await consumer.poll(0.1) is None:
                pass

    run(story())
    assert got == [None, []]


@KINDS
@pytest.mark.parametrize("timeout", ["3", None])
def test_a_timeout_that_is_no_number_is_a_type_error(kind: type[Any], timeout: Any, new_stage: NewStage) -> None:
    """The bug: ours was a ValueError only, which a program written for the other does not catch."""
    stage = new_stage(partitions=1)

    async def story() -> None:
        async with kind(stage.config()) as consumer:
            for call in (consumer.poll, functools.partial(consumer.consume, 1), consumer.list_topics):
                with pytest.raises(TypeError):
                    await call(timeout=timeout)

    run(story())
