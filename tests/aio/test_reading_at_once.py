"""Records that librdkafka has fetched go to a coroutine without a turn of the consumer's thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from confluent_kafka import Message, Producer

from membership_client import aio
from membership_client.consumer.monitor import Inside, LibrdkafkaLock
from membership_client.testing import EmbeddedKafka
from tests.testing.embedded_groups import PATIENCE_S, QUICK

RECORDS = 3000


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    """With a topic of one partition, which has some records."""
    with EmbeddedKafka(topics={"orders": 1}, settings=QUICK) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 5})
        for _ in range(RECORDS):
            producer.produce("orders", b"record")
        producer.flush(PATIENCE_S)
        yield cluster


def run(embedded: EmbeddedKafka, story: Callable[[aio.Consumer], Coroutine[Any, Any, None]], **more: Any) -> None:
    async def main() -> None:
        config = {"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop", "auto.offset.reset": "earliest"}
        async with aio.Consumer({**config, **more}) as consumer:
            consumer.subscribe(["orders"])
            await story(consumer)

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


async def read_all(consumer: aio.Consumer) -> list[Message]:
    """By all ways to read, in turns."""
    found: list[Message] = []
    while len(found) < RECORDS:
        found += await consumer.consume(100, 0.1)
        found += await consumer.getmany(max_records=7, timeout_s=0.1)
        one = await consumer.poll(0.1)
        found += [] if one is None else [one]
    return found


def test_all_ways_to_read_keep_the_order(embedded: EmbeddedKafka) -> None:
    """Each record comes once, whether librdkafka or the line has it."""

    async def story(consumer: aio.Consumer) -> None:
        assert [message.offset() for message in await read_all(consumer)] == list(range(RECORDS))

    run(embedded, story)


@pytest.mark.parametrize(
    ("key", "value"), [("value.deserializer", lambda raw: raw), ("auto.offset.reset", "by_duration:P1D")]
)
def test_what_may_take_long_is_left_to_the_thread(embedded: EmbeddedKafka, key: str, value: object) -> None:
    """A deserializer, or a look-up of offsets by time, must not block the loop."""

    async def story(consumer: aio.Consumer) -> None:
        assert len(await read_all(consumer)) == RECORDS
        assert consumer._fetcher._may_block

    run(embedded, story, **{key: value})


def test_a_busy_librdkafka_does_not_block_the_loop(embedded: EmbeddedKafka) -> None:
    """A call of another thread into librdkafka may take seconds; coroutines run on meanwhile."""

    async def story(consumer: aio.Consumer) -> None:
        assert len(await consumer.consume(10, PATIENCE_S)) == 10
        busy, done = threading.Event(), threading.Event()

        def be_busy() -> None:
            with consumer._fetcher._librdkafka.lock.calling():
                busy.set()
                done.wait(PATIENCE_S)

        other = asyncio.create_task(asyncio.to_thread(be_busy))
        await asyncio.to_thread(busy.wait)
        reading = asyncio.create_task(consumer.consume(RECORDS - 10, PATIENCE_S))
        for _ in range(20):
            await asyncio.sleep(0.01)  # A blocked loop would wait here until PATIENCE_S is over, and fail.
        assert not reading.done()
        done.set()
        assert [message.offset() for message in await reading] == list(range(10, RECORDS))
        await other

    run(embedded, story)


def test_a_lock_that_is_not_free() -> None:
    """It is not waited for, neither while another thread has it nor while another one waits."""
    lock = LibrdkafkaLock(Inside())
    answers: list[bool] = []

    def look() -> None:
        with lock.reading_if_free() as is_free:
            answers.append(is_free)

    with lock.calling():
        other = threading.Thread(target=look)
        other.start()
        other.join(PATIENCE_S)
    look()
    lock.callers.append(None)
    look()
    lock.callers.pop()
    with lock.reading_if_free() as is_free:
        answers.append(is_free)
    assert answers == [False, True, False, True]
