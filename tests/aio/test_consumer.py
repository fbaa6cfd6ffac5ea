"""Consumer on a loop: records, offsets, and what is plain."""

from __future__ import annotations

import asyncio

import confluent_kafka
import pytest
from confluent_kafka import KafkaException, Message

from membership_client import (
    ConfigError,
    ListenerError,
    MemberClosedError,
    MemberState,
    NotOwnedError,
    TopicPartition,
    aio,
)
from membership_client.testing import KafkaCluster
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage, keep_reading, offsets, read, run, until
from tests.integration.members import PATIENCE_S, block_through_heartbeats

pytestmark = pytest.mark.kafka


def test_iteration_is_steady(new_stage: NewStage) -> None:
    """Every record once and in order, without a hop to the thread for each."""
    stage = new_stage(partitions=1)
    stage.produce(5000)

    async def story() -> None:
        seen: list[Message] = []
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            async for message in consumer:
                seen.append(message)
                if len(seen) == 5000:
                    break
        assert offsets(seen) == list(range(5000))

    run(story())


@pytest.mark.parametrize("timeout", ["x", None, [], float("nan")])
def test_a_wrong_timeout_is_refused_while_records_wait(new_stage: NewStage, timeout: object) -> None:
    """It was refused only when nothing was in the buffer, so that the mistake showed on an idle topic alone."""
    stage = new_stage(partitions=1)
    stage.produce(100)

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            assert await consumer.poll(PATIENCE_S) is not None
            with pytest.raises(ConfigError):
                await consumer.poll(timeout)  # type: ignore[arg-type]
            assert offsets(await read(consumer, 1)) == [1]

    run(story())


def test_one_and_many(new_stage: NewStage) -> None:
    """One by one or in lists, no longer than wanted; nothing when time is up."""
    stage = new_stage(partitions=1)
    stage.produce(10)

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            first = await consumer.getone(timeout_s=PATIENCE_S)
            assert first is not None
            many = await read(consumer, 4)
            assert await consumer.position([stage.place(0)]) == [stage.place(0, 5)]
            progress = await consumer.progress()
            assert (progress.lag, progress.partitions[TopicPartition(stage.topic, 0)].position) == (5, 5)
            rest = await read(consumer, 5)
            assert offsets([first, *many, *rest]) == list(range(10))
            assert await consumer.getone(timeout_s=0) is None
            assert await consumer.getmany(timeout_s=0.05) == []
            with pytest.raises(ConfigError):
                await consumer.getmany(max_records=0)

    run(story())


def test_only_what_was_handed_out_is_committed(new_stage: NewStage) -> None:
    """Records that were read ahead are not: neither by commit(), nor automatically, nor when the consumer closes."""
    stage = new_stage(partitions=1)
    stage.produce(100)

    async def story() -> None:
        config = {"enable_auto_commit": True, "auto_commit_interval_ms": 10}
        async with stage.consumer(**config) as consumer:
            consumer.subscribe([stage.topic])
            for _ in range(3):
                assert await consumer.getone(timeout_s=PATIENCE_S) is not None
            assert await consumer.commit() == [stage.place(0, 3)]
            await until(lambda: len(consumer._fetcher._buffer) > 0, "read ahead")
            assert await consumer.getone(timeout_s=PATIENCE_S) is not None
        assert await asyncio.to_thread(stage.committed) == 4

    run(story())


def test_records_continue_where_the_last_consumer_ended(new_stage: NewStage) -> None:
    """With automatic commits nothing is lost and nothing comes twice."""
    stage = new_stage(partitions=1)
    stage.produce(30)

    async def story() -> None:
        seen: list[Message] = []
        for _ in range(3):
            async with stage.consumer(enable_auto_commit=True) as consumer:
                consumer.subscribe([stage.topic])
                seen += await read(consumer, 10)
        assert offsets(seen) == list(range(30))

    run(story())


def test_after_an_exception_the_record_comes_again(new_stage: NewStage) -> None:
    """Leaving the block by an exception commits nothing automatically."""
    stage = new_stage(partitions=1)
    stage.produce(5)

    async def fail() -> None:
        async with stage.consumer(enable_auto_commit=True) as consumer:
            consumer.subscribe([stage.topic])
            raise LookupError(await consumer.getone(timeout_s=PATIENCE_S))

    async def story() -> None:
        with pytest.raises(LookupError):
            await fail()
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            assert offsets(await read(consumer, 1)) == [0]

    run(story())


def test_offsets_that_the_application_stores(new_stage: NewStage) -> None:
    """With enable.auto.offset.store=false it decides what a commit covers."""
    stage = new_stage(partitions=1)
    stage.produce(5)

    async def story() -> None:
        async with stage.consumer(enable_auto_offset_store=False) as consumer:
            consumer.subscribe([stage.topic])
            messages = await read(consumer, 5)
            await consumer.store_offsets(messages[1])
            await consumer.commit()
            (found,) = await consumer.committed([stage.place(0)])
            assert found.offset == 2

    run(story())


def test_seek_pause_and_resume_reach_records_that_were_read_ahead(new_stage: NewStage) -> None:
    """What waits in line obeys, too."""
    stage = new_stage(partitions=1)
    stage.produce(50)

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            assert await consumer.getone(timeout_s=PATIENCE_S) is not None
            await consumer.pause([stage.place(0)])
            assert await consumer.getone(timeout_s=0.2) is None
            await consumer.resume([stage.place(0)])
            assert offsets(await read(consumer, 2)) == [1, 2]
            await consumer.seek(stage.place(0, 40))
            assert offsets(await read(consumer, 10)) == list(range(40, 50))

    run(story())


def test_two_consumers_share_a_group_in_one_loop(stage: Stage) -> None:
    """A rebalance while the first awaits records: each gets its half, and every record comes once."""

    async def story() -> None:
        one, two = list[Message](), list[Message]()
        async with stage.consumer() as first, stage.consumer() as second, asyncio.TaskGroup() as tasks:
            first.subscribe([stage.topic])
            tasks.create_task(keep_reading(first, one))
            await until(lambda: len(first.snapshot.owned) == 4, "all partitions with the first")
            second.subscribe([stage.topic])
            tasks.create_task(keep_reading(second, two))
            await until(lambda: len(second.snapshot.owned) == 2 == len(first.snapshot.owned), "two each")
            await until(lambda: {c.snapshot.state for c in (first, second)} == {MemberState.STABLE}, "both stable")
            await asyncio.to_thread(stage.produce, 10)
            await until(lambda: len(one) + len(two) >= 40, "all records")
            await first.close()
            await second.close()
        assert len({(message.partition(), message.offset()) for message in one + two}) == 40 == len(one) + len(two)
        assert {message.partition() for message in one}.isdisjoint(message.partition() for message in two)

    run(story())


def test_calls_get_through_while_another_task_awaits_records(stage: Stage) -> None:
    """The C library lets in one thread at a time; no other thread waits for it, and the loop never does."""

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            waiting = asyncio.create_task(consumer.getone())
            await until(lambda: len(consumer.snapshot.owned) == 4, "an assignment")
            assert len(await consumer.assignment()) == 4
            assert len(await consumer.position([stage.place(0)])) == 1
            await consumer.commit(offsets=[stage.place(1, 5)])
            assert [place.offset for place in await consumer.committed([stage.place(1)])] == [5]
            assert not waiting.done()
            waiting.cancel()

    run(story())


def test_a_blocked_loop_costs_nothing_but_its_own_time(stage: Stage) -> None:
    """Heartbeats go on, with a task that awaits records: same member, same epoch."""

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_assign=lambda consumer, partitions: None)
            waiting = asyncio.create_task(consumer.getone())
            await until(lambda: consumer.snapshot.state is MemberState.STABLE, "stable")
            before = consumer.snapshot
            block_through_heartbeats(consumer)
            assert (consumer.snapshot.epoch, consumer.snapshot.owned) == (before.epoch, before.owned)
            assert consumer.health().ready
            assert consumer.last_rebalance is not None
            assert consumer.last_rebalance.owned == len(before.owned)
            assert "Do: nothing, all is well." in consumer.explain()
            assert await asyncio.to_thread(stage.group.knows, before.member_id)
            waiting.cancel()

    run(story())


def test_what_looks_only_is_plain(new_stage: NewStage) -> None:
    """Membership of this moment, without awaiting anything."""
    stage = new_stage(partitions=1)
    stage.produce(1)

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            (message,) = await read(consumer, 1)
            assert consumer.owner_epoch(message) == consumer.snapshot.epoch
            assert not consumer.revoke_pending(message)
            assert consumer.memberid() == consumer.snapshot.member_id
            assert consumer.memberid().encode() in consumer.consumer_group_metadata()
            await consumer.unsubscribe()
            await until(lambda: consumer.snapshot.state is MemberState.UNSUBSCRIBED, "the end of the membership")
            assert consumer.owner_epoch(message) is None

    run(story())


def test_errors_are_of_both_kinds(stage: Stage) -> None:
    """It is a KafkaException, and of the type that says what happened."""

    async def wrong(consumer: object) -> None: ...

    async def story() -> None:
        consumer = aio.Consumer(stage.config())
        with pytest.raises(ListenerError) as refused:
            consumer.subscribe([stage.topic], on_assign=wrong)  # type: ignore[arg-type]
        assert isinstance(refused.value, KafkaException)
        consumer.subscribe([stage.topic])
        with pytest.raises(NotOwnedError) as refused_commit:
            await consumer.commit(offsets=[confluent_kafka.TopicPartition("others", 0, 1)])
        assert isinstance(refused_commit.value, KafkaException)
        with pytest.raises(KafkaException, match="_NO_OFFSET"):
            await consumer.commit()
        await consumer.close()
        for call in (consumer.getone, consumer.assignment, consumer.commit):
            with pytest.raises(MemberClosedError) as closed:
                await call()
            assert isinstance(closed.value, KafkaException | RuntimeError)
        assert [message async for message in consumer] == []

    run(story())
    with pytest.raises(ConfigError, match="inside a coroutine"):
        aio.Consumer(stage.config())


def test_closing_is_done_once_and_ends_calls_that_await_records(stage: Stage) -> None:
    """An iteration ends, a getone() is told, and a second close() returns the same report."""

    async def story() -> None:
        consumer = aio.Consumer(stage.config())
        consumer.subscribe([stage.topic])
        iteration = asyncio.create_task(keep_reading(consumer, []))
        one = asyncio.create_task(consumer.getone())
        await until(lambda: len(consumer.snapshot.owned) == 4, "an assignment")
        reports = await asyncio.gather(consumer.close(reason="enough"), consumer.close(reason="more than enough"))
        assert reports[0] == reports[1] == await consumer.close()
        assert (reports[0].clean, reports[0].reason) == (True, "enough")
        await iteration
        with pytest.raises(MemberClosedError):
            await one

    run(story())


def test_a_classic_group_rebalances_when_told_to(new_stage: NewStage, kafka: KafkaCluster) -> None:
    """Without waiting for it; the broker's log has the reason."""
    stage = new_stage(partitions=1)
    reason = f"a rehearsal of {stage.group.id}"

    async def story() -> None:
        async with stage.consumer(group_protocol="classic") as consumer:
            consumer.subscribe([stage.topic])
            reading = asyncio.create_task(keep_reading(consumer, []))
            await until(lambda: consumer.snapshot.state is MemberState.STABLE, "a member")
            consumer.enforce_rebalance(reason)
            await until(lambda: reason in kafka.log(), "the reason in the log")
            reading.cancel()

    run(story())
