"""Tasks that are cancelled: no record is lost, no thread is stuck, and all goes on."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Message

from membership_client import aio
from membership_client.consumer.translate import Places
from membership_client.testing import KafkaCluster
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage, offsets, read, run, until
from tests.integration.members import PATIENCE_S, QUICK, Group, eventually

pytestmark = pytest.mark.kafka


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_records_of_a_cancelled_task_go_to_the_next(new_stage: NewStage) -> None:
    """Cancelled at any moment, again and again: every record comes once, and in order."""
    stage = new_stage(partitions=1)
    seen: list[Message] = []

    async def story() -> None:
        chance = random.Random(7)
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            await asyncio.wait({asyncio.create_task(consumer.getone(timeout_s=0.5))})
            await asyncio.to_thread(stage.produce, 300)
            async with asyncio.timeout(PATIENCE_S):
                while len(seen) < 300:
                    await take_or_cancel(consumer, chance)

    async def take_or_cancel(consumer: aio.Consumer, chance: random.Random) -> None:
        task = asyncio.create_task(consumer.getmany(max_records=chance.randint(1, 5), timeout_s=None))
        await asyncio.wait({task}, timeout=chance.choice([0, 0, 0.001, 0.02]))
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(outcome, list):
            seen.extend(outcome)

    run(story())
    assert offsets(seen) == list(range(300))


def test_a_record_that_comes_for_a_cancelled_task_is_neither_lost_nor_committed(new_stage: NewStage) -> None:
    """It was not handed out, so the next consumer of the group gets it."""
    stage = new_stage(partitions=1)

    async def story() -> None:
        async with stage.consumer(enable_auto_commit=True) as consumer:
            consumer.subscribe([stage.topic])
            while not consumer.snapshot.owned:
                await consumer.getone(timeout_s=0.05)
            task = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0)
            # The loop is busy while the records come, so a coroutine that waits for them is cancelled before it can take them.
            stage.produce(5)
            eventually(lambda: len(consumer._fetcher._buffer) > 0, "a record in line")
            await cancelled(task)
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            assert offsets(await read(consumer, 5)) == list(range(5))

    run(story())


def test_a_cancelled_close_goes_on_by_itself(stage: Stage) -> None:
    """Its callbacks still run, and a second close() waits for the same end."""

    async def story() -> None:
        going = asyncio.Event()

        async def on_revoke(consumer: aio.Consumer, partitions: Places) -> None:
            going.set()
            await asyncio.sleep(0.2)

        consumer = aio.Consumer(stage.config())
        consumer.subscribe([stage.topic], on_revoke=on_revoke)
        while not consumer.snapshot.owned:
            await consumer.getone(timeout_s=0.05)
        first = asyncio.create_task(consumer.close(reason="cancelled"))
        await going.wait()
        await cancelled(first)
        report = await consumer.close()
        assert (report.clean, report.reason) == (True, "cancelled")

    run(story())


def test_a_cancelled_hold_is_over(stage: Stage) -> None:
    """What was held can be taken away again."""

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])

            async def work() -> None:
                async with consumer.hold():
                    await asyncio.Event().wait()

            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            assert consumer._fetcher._queue.bridge.holds
            await cancelled(task)
            assert not consumer._fetcher._queue.bridge.holds

    run(story())


def test_no_thread_outlives_its_consumer(stage: Stage) -> None:
    """Whatever was cancelled before."""
    before = set(threading.enumerate())

    async def story() -> None:
        async with stage.consumer() as consumer, aio.GroupMember(stage.member_config()) as member:
            consumer.subscribe([stage.topic])
            member.subscribe([stage.topic])
            waits = [member.wait_until(lambda _: False), consumer.getone(), consumer.getmany(), consumer.assignment()]
            tasks = [asyncio.create_task(wait) for wait in waits]
            await until(lambda: bool(member.assignment()) or bool(consumer.snapshot.owned), "a group")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(story())
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in left)


def test_a_commit_without_an_answer_can_be_cancelled(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """Without a broker: the loop goes on, the consumer's thread is free for others, and closing is bounded."""
    cluster = kafka_factory()
    group = Group(cluster.bootstrap_servers, "unanswered")
    group.admin.set_group_config(group.id, **QUICK)
    group.create_topic(group.topic, 1)
    stage = Stage(group, 1)

    async def story() -> None:
        consumer = aio.Consumer(stage.config())
        consumer.subscribe([stage.topic])
        while not consumer.snapshot.owned:
            await consumer.getone(timeout_s=0.05)
        await asyncio.to_thread(cluster.stop)
        commit = asyncio.create_task(consumer.commit(offsets=[stage.place(0, 1)]))
        await asyncio.wait({commit}, timeout=0.5)
        assert len(await consumer.assignment()) == 1, "another call gets through"
        await cancelled(commit)
        assert not (await consumer.close(timeout_s=0.5)).clean

    run(story())
