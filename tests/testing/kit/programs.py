"""Small programs for the tests of the kit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

from membership_client import GroupMember, NotOwnedError, aio
from membership_client.types import TopicPartition

CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def careful(instance: Any) -> None:
    """Commits each record before the next."""
    consumer = instance.consumer(CONFIG)
    consumer.subscribe(["orders"])
    try:
        while True:
            message = consumer.poll(1.0)
            if message is not None:
                instance.processed(message)
                consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


def careless(instance: Any) -> None:
    """Commits each record before it is processed, so that a crash loses one."""
    consumer = instance.consumer(CONFIG)
    consumer.subscribe(["orders"])
    try:
        while True:
            message = consumer.poll(1.0)
            if message is not None:
                consumer.commit(message, asynchronous=False)
                instance.processed(message)
    finally:
        consumer.close()


def automatic(instance: Any) -> None:
    """Leaves the commits to the consumer."""
    with instance.consumer({"auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe(["orders"])
        for message in consumer:
            instance.processed(message)


async def careful_async(instance: Any) -> None:
    """As `careful`, with coroutines."""
    async with instance.aio_consumer(CONFIG) as consumer:
        consumer.subscribe(["orders"])
        async for message in consumer:
            instance.processed(message)
            await consumer.commit(message)


async def careless_async(instance: Any) -> None:
    """Commits each record before it is processed, so that a crash in between loses one."""
    async with instance.aio_consumer(CONFIG) as consumer:
        consumer.subscribe(["orders"])
        async for message in consumer:
            await consumer.commit(message)
            await asyncio.sleep(0.1)
            instance.processed(message)


class Places:
    """The next offset of each partition that the member owns. Callbacks run on another thread."""

    def __init__(self) -> None:
        self.member: Any = None
        self.next: dict[TopicPartition, int] = {}
        self.lock = threading.Lock()

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        committed = self.member.committed(partitions)
        with self.lock:
            self.next.update({p: offset.offset if offset else 0 for p, offset in committed.items()})

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        with self.lock:  # The program works on no record now.
            for partition in partitions:
                del self.next[partition]

    on_partitions_lost = on_partitions_revoked


def member_alone(instance: Any) -> None:
    """A `GroupMember` with another fetcher."""
    places = Places()
    with GroupMember(instance.config, listener=instance.listener(places)) as places.member:
        places.member.subscribe(["orders"])
        while True:
            instance.check_interrupt()
            time.sleep(0.01)
            with places.lock:
                for partition in list(places.next):
                    read_one(instance, places, partition)


def read_one(instance: Any, places: Places, partition: TopicPartition) -> None:
    message = instance.read(partition, places.next[partition])
    if message is not None:
        instance.processed(message)
        places.next[partition] += 1
        with contextlib.suppress(NotOwnedError):  # It was lost meanwhile, and comes again.
            places.member.commit({partition: places.next[partition]})


def member_without_a_lock(instance: Any) -> None:
    """As `member_alone`, but a revoke does not wait for the record that is being processed."""
    places = Places()
    with GroupMember(instance.config, listener=instance.listener(places)) as places.member:
        places.member.subscribe(["orders"])
        while True:
            instance.check_interrupt()
            time.sleep(0.01)
            for partition in list(places.next):
                with contextlib.suppress(KeyError):
                    read_one(instance, places, partition)


class AsyncPlaces:
    """As `Places`, with coroutines. `working` is locked while a record is processed."""

    def __init__(self) -> None:
        self.member: Any = None
        self.next: dict[TopicPartition, int] = {}
        self.working = asyncio.Lock()
        self.is_ending = False

    async def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        committed = await self.member.committed(partitions)
        self.next.update({p: offset.offset if offset else 0 for p, offset in committed.items()})

    async def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        async with self.working:
            for partition in partitions:
                self.next.pop(partition, None)

    on_partitions_lost = on_partitions_revoked

    async def work(self, instance: Any) -> None:
        while not self.is_ending:
            await asyncio.sleep(0.01)
            for partition in list(self.next):
                async with self.working:
                    if partition in self.next and (message := instance.read(partition, self.next[partition])):
                        instance.processed(message)
                        self.next[partition] += 1
                        with contextlib.suppress(NotOwnedError):
                            await self.member.commit({partition: self.next[partition]})


async def async_member(instance: Any) -> None:
    """The `GroupMember` of asyncio, which ends between two records."""
    places = AsyncPlaces()
    async with aio.GroupMember(instance.config, listener=instance.listener(places)) as places.member:
        places.member.subscribe(["orders"])
        working = asyncio.create_task(places.work(instance))
        try:
            await asyncio.shield(working)
        finally:
            places.is_ending = True
            await working
