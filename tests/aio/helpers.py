"""Consumers and members on a loop, each group with a topic of its own, and waiting for facts without blocking the loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import confluent_kafka
from confluent_kafka import Message, Producer

from membership_client import aio
from tests.integration.members import PATIENCE_S, Group

T = TypeVar("T")


class Stage:
    """A group, its topic, and what a test says to the broker."""

    def __init__(self, group: Group, partitions: int) -> None:
        self.group = group
        self.topic = group.topic
        self.partitions = partitions

    def config(self, **more: Any) -> dict[str, Any]:
        """Keys with underscores; reads from the start, and commits only when told."""
        base = {"bootstrap.servers": self.group.bootstrap_servers, "group.id": self.group.id}
        given = {key.replace("_", "."): value for key, value in more.items()}
        return {**base, "auto.offset.reset": "earliest", "enable.auto.commit": False, **given}

    def member_config(self, **more: Any) -> dict[str, Any]:
        given = {key.replace("_", "."): value for key, value in more.items()}
        return {"bootstrap.servers": self.group.bootstrap_servers, "group.id": self.group.id, **given}

    @asynccontextmanager
    async def consumer(self, **config: Any) -> AsyncIterator[aio.Consumer]:
        """A consumer that has not subscribed yet."""
        async with aio.Consumer(self.config(**config)) as consumer:
            yield consumer

    def produce(self, count: int, partitions: Iterable[int] | None = None) -> None:
        """Produce `count` records to each of the partitions."""
        producer = Producer({"bootstrap.servers": self.group.bootstrap_servers, "linger.ms": 5})
        for number in range(self.partitions) if partitions is None else partitions:
            for _ in range(count):
                producer.produce(self.topic, b"record", partition=number)
        producer.flush()

    def place(self, number: int, offset: int = confluent_kafka.OFFSET_INVALID) -> confluent_kafka.TopicPartition:
        return confluent_kafka.TopicPartition(self.topic, number, offset)

    def committed(self, number: int = 0) -> int:
        """The group as an administrator sees it."""
        config = {"bootstrap.servers": self.group.bootstrap_servers, "group.id": self.group.id}
        onlooker = confluent_kafka.Consumer(config)
        (found,) = onlooker.committed([self.place(number)], timeout=PATIENCE_S)
        onlooker.close()
        return int(found.offset)


def run(story: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine in a loop of its own, which reports coroutines that are not awaited."""
    return asyncio.run(asyncio.wait_for(story, 2 * PATIENCE_S), debug=True)


async def until(check: Callable[[], T], what: str) -> T:
    """Wait for a true value of `check` and return it; the loop goes on meanwhile."""
    give_up_at = time.monotonic() + PATIENCE_S
    while not (value := check()):
        assert time.monotonic() < give_up_at, f"not within {PATIENCE_S:g} s: {what}"
        await asyncio.sleep(0.02)
    return value


async def read(consumer: aio.Consumer, count: int) -> list[Message]:
    """Read `count` records, or fail."""
    messages: list[Message] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(messages) < count:
            messages += await consumer.getmany(max_records=count - len(messages))
    return messages


async def keep_reading(consumer: aio.Consumer, into: list[Message]) -> None:
    """A task that reads records until the consumer is closed."""
    async for message in consumer:
        into.append(message)  # noqa: PERF401 - a comprehension would show them only at the end


def offsets(messages: Iterable[Message]) -> list[int | None]:
    return [message.offset() for message in messages]
