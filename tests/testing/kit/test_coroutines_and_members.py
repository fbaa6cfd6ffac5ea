"""`explore` with asyncio, and with a `GroupMember` alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from typing import Any

import pytest
from confluent_kafka import KafkaException

from membership_client import CallbackFailedError, ConfigError, GroupMember
from membership_client.testing import Fence, Join, Leave, Stall, StoryError, What, explore, play
from tests.testing.kit.programs import (
    CONFIG,
    async_member,
    careful_async,
    careless_async,
    member_alone,
    member_without_a_lock,
)
from tests.testing.kit.test_explore import EVERYTHING

RIGHT = [careful_async, member_alone, async_member]


@pytest.mark.parametrize("program", RIGHT)
def test_right_programs_pass(program: Any) -> None:
    """They pass whatever happens to their group; the runs contain rebalances."""
    assert explore(program, seeds=10).rebalances > 30


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (careless_async, "is missing in the output"),
        (member_without_a_lock, "processed after its partition was revoked"),
    ],
)
def test_wrong_programs_are_found(program: Any, text: str) -> None:
    """They commit before the work, or a revoke does not wait for it."""
    with pytest.raises(StoryError, match=text):
        explore(program, seeds=40)


@pytest.mark.parametrize("program", RIGHT)
def test_the_same_seed_is_the_same_run(program: Any) -> None:
    """The history is the same line by line, although there are event loops, threads and members in it."""
    assert str(play(program, EVERYTHING, seed=3)) == str(play(program, EVERYTHING, seed=3))


def test_a_plain_program_may_run_its_own_loop() -> None:
    """KeyboardInterrupt ends it where it awaits records, as on an embedded broker."""
    explore(lambda instance: asyncio.run(careful_async(instance)), seeds=3)


def test_a_call_that_is_cancelled_loses_no_record() -> None:
    """A program that awaits records with its own timeout reads each of them."""

    async def program(instance: Any) -> None:
        async with instance.aio_consumer(CONFIG) as consumer:
            consumer.subscribe(["orders"])
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.005):
                        message = await consumer.getone()
                    instance.processed(message)
                    await consumer.commit(message)

    explore(program, seeds=5)


def test_a_task_group_that_fails_by_a_refused_commit_is_started_again() -> None:
    """A program that raises the KafkaException itself is, too."""

    async def program(instance: Any) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(careful_async(instance))

    explore(program, events=[Join, Fence, Leave], seeds=10)


def test_a_callback_whose_partitions_are_lost_is_cancelled() -> None:
    """It does not delay the group. The call once raised a RuntimeError, unlike a real consumer."""
    ended: list[str] = []
    raised: list[Exception] = []

    async def program(instance: Any) -> None:
        async def on_assign(_: object, partitions: object) -> None:
            try:
                await asyncio.sleep(8.0)
            except asyncio.CancelledError:
                ended.append(instance.name)
                raise

        async with instance.aio_consumer(CONFIG) as consumer:
            consumer.subscribe(["orders"], on_assign=on_assign)
            try:
                await consumer.getone()
            except CallbackFailedError as error:
                raised.append(error)
            await asyncio.sleep(100.0)

    play(program, [Fence("a", at=3.0)], checks=[])
    assert ended == ["a"]
    assert [isinstance(error, KafkaException) for error in raised] == [True]


def test_coroutines_take_turns_in_virtual_time() -> None:
    """Sleeps, timeouts and threads of executors use the clock of the run."""
    seen: list[float] = []

    async def program(instance: Any) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(asyncio.sleep(3.0), asyncio.sleep(5.0), asyncio.to_thread(lambda: None))
        seen.append(loop.time())
        instance.durable["done"] = True
        await asyncio.sleep(1000.0)

    play(program, checks=[], records=0)
    assert seen == [pytest.approx(5.0, abs=0.1)]


def test_sockets_are_no_part_of_a_run() -> None:
    """A connection would be waited for by a real clock, so it is refused at once."""

    async def program(_instance: object) -> None:
        one, other = socket.socketpair()
        with one, other:
            one.setblocking(False)
            await asyncio.get_running_loop().sock_recv(one, 1)

    with pytest.raises(StoryError, match="Sockets are not virtual"):
        play(program, checks=[])


def test_coroutines_that_never_wait_are_found() -> None:
    """They would stop the run for ever."""

    async def program(_instance: object) -> None:
        while True:  # noqa: ASYNC110 - that is the bug
            await asyncio.sleep(0)

    with pytest.raises(StoryError, match="time stands still"):
        play(program, checks=[])


def test_a_member_of_another_group_is_refused() -> None:
    """Its requests would be answered as those of the run's group."""

    def program(instance: Any) -> None:
        GroupMember({**instance.config, "group.id": "other"})

    with pytest.raises(StoryError, match=r"make a member with `instance\.config`"):
        play(program, checks=[])


# --- what is said when a program is at fault -------------------------------------------------------------------------


def test_a_slow_program_is_told_from_one_that_loses_records() -> None:
    """Both once ended with "Record … is missing"."""

    def program(instance: Any) -> None:
        with instance.consumer(CONFIG) as consumer:
            consumer.subscribe(["orders"])
            for message in consumer:
                time.sleep(4.0)
                instance.processed(message)
                consumer.commit(message, asynchronous=False)

    with pytest.raises(StoryError, match=r"while it was still busy\. It had processed 1\d of 30 records") as found:
        play(program)
    assert "is missing in the output" in str(found.value)


@pytest.mark.parametrize("config", [{"auto.ofset.reset": "latest"}, {"enable.auto.commit": "maybe"}])
def test_a_wrong_key_is_said_at_once(config: dict[str, Any]) -> None:
    """It was once ignored, and the story ended with a missing record."""
    with pytest.raises(StoryError, match="ConfigError"):
        play(lambda instance: instance.consumer(config))


def test_an_instance_that_is_replaced_has_a_line() -> None:
    """A `Join` with the name of a running instance kills it, which was once not in the history."""
    history = play(careful_async, [Join("a", at=3.0)])
    assert next(entry.text for entry in history.of(What.ENDED)).startswith("as with kill -9")


def test_a_program_that_swallows_every_exception_is_found() -> None:
    """It once stopped the run for a minute of real time, because nothing could end it."""

    def program(instance: Any) -> None:
        consumer = instance.consumer(CONFIG)
        consumer.subscribe(["orders"])
        while True:
            with contextlib.suppress(BaseException):
                instance.processed(consumer.poll(1.0))

    with pytest.raises(StoryError, match="goes on after every exception"):
        play(program, [Stall("a", for_s=1.0, at=1.0), Join("a", at=2.0), Leave("a", at=5.0)])


def test_a_consumer_of_asyncio_needs_a_loop() -> None:
    """A virtual consumer of asyncio is made inside the program's loop."""
    with pytest.raises(StoryError, match=ConfigError.__name__):
        play(lambda instance: instance.aio_consumer())
