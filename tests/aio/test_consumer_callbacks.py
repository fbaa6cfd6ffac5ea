"""Callbacks of a Consumer on a loop: where they run, what they may do, and how they end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from confluent_kafka import KafkaError, Message

from membership_client import (
    CallbackContext,
    CallbackFailedError,
    ConfigError,
    MemberState,
    TopicPartition,
    aio,
)
from membership_client.consumer.translate import Places
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage, keep_reading, offsets, read, run, until
from tests.integration.members import PATIENCE_S, Group

pytestmark = pytest.mark.kafka


def second_member(group: Group) -> None:
    """Wants its share; the group's fixture closes it."""
    group.join()


async def owner_of_all(stage: Stage, consumer: aio.Consumer) -> asyncio.Task[None]:
    """Keeps reading in a task, and owns all partitions."""
    task = asyncio.create_task(keep_reading(consumer, []))
    await until(lambda: len(consumer.snapshot.owned) == stage.partitions or task.done(), "all partitions")
    return task


def test_callbacks_run_on_the_loop_in_order_while_records_are_awaited(stage: Stage) -> None:
    """They get the consumer itself and confluent-kafka's partitions, and a context where they want one."""
    story_of: list[tuple[str, int, int]] = []

    async def story() -> None:
        async def on_assign(given: aio.Consumer, partitions: Places) -> None:
            assert given is consumer
            await asyncio.sleep(0.01)
            story_of.append(("assigned", len(partitions), threading.get_ident()))

        def on_revoke(given: aio.Consumer, partitions: Places, context: CallbackContext) -> None:
            assert context.cause.detail
            story_of.append(("revoked", len(partitions), threading.get_ident()))

        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_assign=on_assign, on_revoke=on_revoke)
            task = await owner_of_all(stage, consumer)
            await asyncio.to_thread(second_member, stage.group)
            await until(lambda: len(consumer.snapshot.owned) == 2, "half of them")
            task.cancel()

    run(story())
    here = threading.get_ident()
    assert story_of == [("assigned", 4, here), ("revoked", 2, here), ("revoked", 2, here)]


def test_a_listener_gets_our_partitions(stage: Stage) -> None:
    """The same objects that a GroupMember's listener takes work here."""
    seen: list[tuple[TopicPartition, ...]] = []

    class Listener:
        async def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
            seen.append(partitions)

    async def story() -> None:
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], listener=Listener())
            (await owner_of_all(stage, consumer)).cancel()

    run(story())
    assert seen == [tuple(TopicPartition(stage.topic, number) for number in range(4))]


def test_no_callback_runs_while_the_application_has_records_in_hand(new_stage: NewStage) -> None:
    """It waits until records are awaited again, and no record of the revoked partition comes after it."""
    stage = new_stage(partitions=2)
    stage.produce(20)
    events: list[object] = []

    async def story() -> None:
        async def on_revoke(consumer: aio.Consumer, partitions: Places) -> None:
            events.append(partitions[0].partition)

        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_revoke=on_revoke)
            assert await consumer.getone(timeout_s=PATIENCE_S) is not None
            await until(lambda: len(consumer.snapshot.owned) == 2, "both partitions")
            await asyncio.to_thread(second_member, stage.group)
            await until(lambda: any(consumer.revoke_pending(stage.place(n)) for n in (0, 1)), "a revoke that waits")
            assert not events
            while not events:
                assert await consumer.getone(timeout_s=PATIENCE_S) is not None
            rest = await consumer.getmany(timeout_s=1)
            assert {message.partition() for message in rest}.isdisjoint(events)

    run(story())


def test_a_callback_may_ask_the_consumer_for_everything_but_records(new_stage: NewStage) -> None:
    """Its calls are carried out while the consumer's thread waits for it."""
    stage = new_stage(partitions=1)
    stage.produce(10)

    async def story() -> None:
        async def on_assign(consumer: aio.Consumer, partitions: Places) -> None:
            assert len(await consumer.assignment()) == 1
            await consumer.seek(stage.place(0, 7))
            await consumer.pause(partitions)
            await consumer.resume(partitions)
            assert [place.offset for place in await consumer.committed(partitions)] == [-1001]
            with pytest.raises(ConfigError, match="cannot await records"):
                await consumer.getone()
            async with consumer.hold():
                pass

        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_assign=on_assign)
            assert offsets(await read(consumer, 3)) == [7, 8, 9]

    run(story())


def test_a_commit_in_a_revoked_callback_covers_what_was_handed_out(new_stage: NewStage) -> None:
    """And not the records that were read ahead."""
    stage = new_stage(partitions=1)
    stage.produce(50)
    committed: list[int] = []

    async def story() -> None:
        async def on_revoke(consumer: aio.Consumer, partitions: Places) -> None:
            committed.extend(place.offset for place in await consumer.commit())

        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_revoke=on_revoke)
            for _ in range(5):
                assert await consumer.getone(timeout_s=PATIENCE_S) is not None

    run(story())
    assert committed == [5] == [stage.committed()]


def test_a_callback_may_wait_for_a_task_that_commits(new_stage: NewStage) -> None:
    """Other tasks' calls are carried out meanwhile, too: the usual way to finish work before a revoke."""
    stage = new_stage(partitions=1)
    stage.produce(5)

    async def story() -> None:
        finish = asyncio.Event()

        async def worker(consumer: aio.Consumer, message: Message) -> None:
            await finish.wait()
            await consumer.commit(message)

        async with stage.consumer() as consumer:

            async def on_revoke(consumer: aio.Consumer, partitions: Places) -> None:
                finish.set()
                await work

            consumer.subscribe([stage.topic], on_revoke=on_revoke)
            messages = await read(consumer, 3)
            work = asyncio.create_task(worker(consumer, messages[-1]))

    run(story())
    assert stage.committed() == 3


async def outlasting(
    stage: Stage, disturb: Callable[[aio.Consumer], Awaitable[object]], **config: int
) -> BaseException | None:
    """What the awaiting task is told of a revoked callback that does not end by itself."""
    begun = asyncio.Event()

    async def on_revoke(consumer: aio.Consumer, partitions: Places, context: CallbackContext) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()

    async with stage.consumer(**config) as consumer:
        consumer.subscribe([stage.topic], on_revoke=on_revoke, on_lost=lambda consumer, partitions: None)
        task = await owner_of_all(stage, consumer)
        await asyncio.to_thread(second_member, stage.group)
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        await disturb(consumer)
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        # On a busy machine the poll interval of a second may be over, which is an event and no record.
        told = [message.error() for message in await consumer.getmany(timeout_s=0)]
        assert all(error and error.code() == KafkaError._MAX_POLL_EXCEEDED for error in told), "still usable"
        return outcome


def test_a_callback_that_outlasts_the_groups_patience_is_cancelled(stage: Stage) -> None:
    """The one who awaits records is told, in words; the consumer goes on."""

    async def nothing(consumer: aio.Consumer) -> None: ...

    error = run(outlasting(stage, nothing, max_poll_interval_ms=1000))
    assert isinstance(error, CallbackFailedError)
    assert "The callback was cancelled" in str(error)


def test_a_callback_is_cancelled_when_its_partitions_are_lost(stage: Stage) -> None:
    """An administrator removes the member in the midst of it."""

    async def remove(consumer: aio.Consumer) -> None:
        await asyncio.to_thread(stage.group.remove, consumer.memberid())

    error = run(outlasting(stage, remove))
    assert isinstance(error, CallbackFailedError)
    assert "lost meanwhile" in str(error)


def test_what_a_callback_raises_comes_out_where_records_are_awaited(stage: Stage) -> None:
    """Once; then the assignment is tried again, and succeeds."""

    async def story() -> None:
        failures = [LookupError("no such table")]

        async def on_assign(consumer: aio.Consumer, partitions: Places) -> None:
            if failures:
                raise failures.pop()

        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_assign=on_assign)
            with pytest.raises(LookupError):
                await consumer.getone(timeout_s=PATIENCE_S)
            (await owner_of_all(stage, consumer)).cancel()

    run(story())


def test_what_a_callback_raises_in_close_is_raised_when_all_is_done(stage: Stage) -> None:
    """The consumer is closed all the same."""

    async def story() -> None:
        async def on_revoke(consumer: aio.Consumer, partitions: Places) -> None:
            raise LookupError("no such table")

        consumer = aio.Consumer(stage.config())
        consumer.subscribe([stage.topic], on_revoke=on_revoke)
        task = await owner_of_all(stage, consumer)
        with pytest.raises(LookupError):
            await consumer.close()
        await task
        assert not (await consumer.close()).clean
        assert consumer.snapshot.state is MemberState.UNSUBSCRIBED

    run(story())


def test_a_hold_puts_a_revoke_off_until_its_end(new_stage: NewStage) -> None:
    """Longer than the poll interval; leaving the block runs the callback."""
    stage = new_stage(partitions=2)
    stage.produce(1)
    revoked: list[int] = []

    async def story() -> None:
        async def on_revoke(consumer: aio.Consumer, partitions: Places) -> None:
            revoked.extend(place.partition for place in partitions)

        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_revoke=on_revoke)
            messages = await read(consumer, 2)
            async with consumer.hold():
                await asyncio.to_thread(second_member, stage.group)
                await until(lambda: any(map(consumer.revoke_pending, messages)), "a revoke that waits")
                assert not revoked
            assert len(revoked) == 1

    run(story())


def test_beside_a_hold_other_partitions_are_given_up_at_once(new_stage: NewStage) -> None:
    """Their callback may commit, which covers them and not what is held."""
    stage = new_stage(partitions=2)
    stage.produce(1)
    places: list[tuple[int, int]] = []

    async def story() -> None:
        async def on_revoke(consumer: aio.Consumer, partitions: Places) -> None:
            places.extend((place.partition, place.offset) for place in await consumer.commit())

        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic], on_revoke=on_revoke)
            await read(consumer, 2)
            # The coordinator lets a member keep its first partition, so that is the one to hold.
            async with consumer.hold(stage.place(0)):
                await asyncio.to_thread(second_member, stage.group)
                await until(lambda: bool(places), "a callback beside the hold")
                assert places == [(1, 1)]

    run(story())
    assert places == [(1, 1), (0, 1)]


def test_the_poll_interval_measures_the_time_between_two_awaits_for_records(new_stage: NewStage) -> None:
    """A consumer that awaits no records for too long loses its partitions, and gets them again when it awaits records."""
    stage = new_stage(partitions=1)
    stage.produce(50)
    lost: list[int] = []

    async def story() -> None:
        async with stage.consumer(max_poll_interval_ms=1000) as consumer:
            consumer.subscribe([stage.topic], on_lost=lambda consumer, partitions: lost.append(len(partitions)))
            assert offsets(await read(consumer, 1)) == [0]
            await until(lambda: consumer.snapshot.state is MemberState.STALE, "a stale member")
            assert not lost, "no coroutine awaits records"
            while not lost:
                await consumer.getmany(timeout_s=0.05)
            while not consumer.snapshot.owned:
                await consumer.getone(timeout_s=0)
            assert consumer.snapshot.state is not MemberState.STALE

    run(story())


def test_work_inside_a_hold_may_exceed_the_poll_interval(new_stage: NewStage) -> None:
    """The member is where it was, with the epoch it had."""
    stage = new_stage(partitions=1)
    stage.produce(1)

    async def story() -> None:
        # Long enough for a busy machine to get from the record to the hold.
        async with stage.consumer(max_poll_interval_ms=6000) as consumer:
            consumer.subscribe([stage.topic])
            (message,) = await read(consumer, 1)
            before = consumer.owner_epoch(message)
            async with consumer.hold(message):
                await asyncio.sleep(7.0)
            assert consumer.owner_epoch(message) == before is not None

    run(story())
