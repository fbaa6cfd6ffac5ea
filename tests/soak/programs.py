"""One program for each public class that reads: each keeps a diary for the judge, beside a busy thread.

Run as a process, with the task that `tests.benchmarks.soak_fleet` gives. SIGTERM ends it in order, SIGUSR1 has it close its
member in order and open a new one. Programs of Consumer drop records whose partition is not their own at that moment, as a
Spark slot does, and rely on their coming again: a partition that is denied although it is owned then loses records for good.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from confluent_kafka import KafkaException, Message

from membership_client import (
    CallbackContext,
    CallbackFailedError,
    Consumer,
    GroupMember,
    MembershipError,
    RebalanceListener,
    aio,
)
from membership_client import TopicPartition as Partition
from membership_client_spark.slot import wait_until_confirmed
from tests.benchmarks.soak_member import BATCH, Life, Places
from tests.soak.busy import keep_busy
from tests.soak.own_fetcher import OwnFetcher, member_config


class ByConsume(Life):
    """Consumer.consume(), and a commit that is waited for after each batch."""

    def _take(self, consumer: Consumer) -> list[Message]:
        return owned(consumer, super()._take(consumer))


class ByPoll(Life):
    """Consumer.poll(), and automatic commits."""

    def _take(self, consumer: Consumer) -> list[Message]:
        message = consumer.poll(0.2)
        return [] if message is None else owned(consumer, [message])


class ByIteration(Life):
    """`for message in consumer`, and a commit of each record that is not waited for."""

    def live(self, leaves: threading.Event) -> None:
        with Consumer(self._task["config"], on_commit=self._on_commit) as consumer:
            consumer.stop_on_signals(signal.SIGTERM)
            hooks = (self._hook("assign"), self._hook("revoke"), self._hook("lost"))
            consumer.subscribe([self._task["topic"]], *hooks)
            was_told_to_end = self._iterate(consumer, leaves)
        self.note("closed", [])
        if was_told_to_end:
            signal.raise_signal(signal.SIGTERM)  # Closing has restored the handler of this process.

    def _iterate(self, consumer: Consumer, leaves: threading.Event) -> bool:
        began_at = time.monotonic()
        for message in consumer:
            if self.note_read(owned(consumer, [message]), began_at, consumer.snapshot.heartbeat_age_s):
                with contextlib.suppress(KafkaException):
                    consumer.commit(message)
            if leaves.is_set():
                return False
            began_at = time.monotonic()
        return True


def owned(consumer: Consumer | aio.Consumer, batch: list[Message]) -> list[Message]:
    """What is ours at this moment, as a Spark slot asks."""
    return [message for message in batch if message.error() or consumer.owner_epoch(message) is not None]


class ByAsyncio(Life):
    """aio.Consumer.getmany(), and a commit that is awaited after each batch."""

    def live(self, leaves: threading.Event) -> None:
        asyncio.run(self._live(leaves))
        self.note("closed", [])

    async def _live(self, leaves: threading.Event) -> None:
        # Closing may run a callback whose partitions are lost meanwhile, and raises that it was cancelled.
        with contextlib.suppress(CallbackFailedError):
            async with aio.Consumer(self._task["config"]) as consumer:
                hooks = [self._coroutine(kind) for kind in ("assign", "revoke", "lost")]
                consumer.subscribe([self._task["topic"]], *hooks)
                while not leaves.is_set():
                    await self._read_and_commit(consumer)

    async def _read_and_commit(self, consumer: aio.Consumer) -> None:
        began_at, age_s = time.monotonic(), consumer.snapshot.heartbeat_age_s
        try:
            batch = owned(consumer, await consumer.getmany(max_records=BATCH, timeout_s=0.2))
        except CallbackFailedError:
            return  # The partitions of a callback were lost while it ran. The consumer goes on.
        if self.note_read(batch, began_at, age_s):
            await self._commit_all(consumer)

    async def _commit_all(self, consumer: aio.Consumer) -> None:
        began_at = time.monotonic()
        with contextlib.suppress(KafkaException):
            for place in await consumer.commit():
                self.note("report", [place.partition], began_at=began_at, offset=place.offset)

    def _coroutine(self, kind: str) -> Callable[[aio.Consumer, Places, CallbackContext], Awaitable[None]]:
        async def hook(consumer: aio.Consumer, places: Places, context: CallbackContext) -> None:
            if kind == "revoke":
                await self._commit_all(consumer)
            self.note(kind, [place.partition for place in places], epoch=context.epoch)

        return hook


def owning(member: GroupMember | aio.GroupMember) -> Callable[[Partition], bool]:
    """Which partitions the member has: `owns` counts lost ones until the lost callback has returned."""
    return lambda partition: member.epoch > 0 and member.owns(partition)


class ByMember(Life, RebalanceListener):
    """GroupMember beside a fetcher of the application's own. A lock keeps callbacks and the reading thread apart."""

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self._fetcher = OwnFetcher(task["config"]["bootstrap.servers"], task["topic"])
        self._lock = threading.Lock()

    def live(self, leaves: threading.Event) -> None:
        with contextlib.closing(self._fetcher):
            with GroupMember(member_config(self._task["config"]), listener=self) as self._member:
                self._member.subscribe([self._task["topic"]])
                while not leaves.is_set():
                    self._read_and_commit(leaves)
            self.note("closed", [])

    def _read_and_commit(self, leaves: threading.Event) -> None:
        before = self._fetcher.readings()
        batch = self._fetcher.fetch(0.05)
        wait_until_confirmed(lambda: self._member.snapshot, leaves.is_set)
        began_at, age_s = time.monotonic(), self._member.snapshot.heartbeat_age_s
        with self._lock:
            kept = self._fetcher.keep(batch, before, owning(self._member))
            if self.note_read(kept, began_at, age_s):
                self._commit_places(self._fetcher.offsets())

    def _commit_places(self, offsets: dict[Partition, int]) -> None:
        began_at = time.monotonic()
        with contextlib.suppress(MembershipError):
            self._member.commit(offsets)
            for place, offset in offsets.items():
                self.note("commit", [place.partition], began_at=began_at, offset=offset)

    def on_partitions_assigned(self, partitions: tuple[Partition, ...], context: CallbackContext) -> None:
        with self._lock:
            self._fetcher.start(self._member.committed(partitions, timeout_s=60))
            self.note("assign", [place.partition for place in partitions], epoch=context.epoch)

    def on_partitions_revoked(self, partitions: tuple[Partition, ...], context: CallbackContext) -> None:
        with self._lock:
            self._commit_places(self._fetcher.stop(partitions))
            self.note("revoke", [place.partition for place in partitions], epoch=context.epoch)

    def on_partitions_lost(self, partitions: tuple[Partition, ...], context: CallbackContext) -> None:
        with self._lock:
            self._fetcher.stop(partitions)
            self.note("lost", [place.partition for place in partitions], epoch=context.epoch)


class ByAsyncioMember(Life):
    """aio.GroupMember beside a fetcher of the application's own. A commit is under way while callbacks run."""

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self._fetcher = OwnFetcher(task["config"]["bootstrap.servers"], task["topic"])

    def live(self, leaves: threading.Event) -> None:
        with contextlib.closing(self._fetcher):
            asyncio.run(self._live(leaves))
        self.note("closed", [])

    async def _live(self, leaves: threading.Event) -> None:
        async with aio.GroupMember(member_config(self._task["config"]), listener=self) as self._member:
            self._member.subscribe([self._task["topic"]])
            while not leaves.is_set():
                before = self._fetcher.readings()
                batch = await asyncio.to_thread(self._fetcher.fetch, 0.05)
                await asyncio.to_thread(wait_until_confirmed, lambda: self._member.snapshot, leaves.is_set)
                began_at, age_s = time.monotonic(), self._member.snapshot.heartbeat_age_s
                if self.note_read(self._fetcher.keep(batch, before, owning(self._member)), began_at, age_s):
                    await self._commit_places(self._fetcher.offsets())

    async def _commit_places(self, offsets: dict[Partition, int]) -> None:
        began_at = time.monotonic()
        with contextlib.suppress(MembershipError):
            await self._member.commit(offsets)
            for place, offset in offsets.items():
                self.note("report", [place.partition], began_at=began_at, offset=offset)

    async def on_partitions_assigned(self, partitions: tuple[Partition, ...], context: CallbackContext) -> None:
        self._fetcher.start(await self._member.committed(partitions, timeout_s=60))
        self.note("assign", [place.partition for place in partitions], epoch=context.epoch)

    async def on_partitions_revoked(self, partitions: tuple[Partition, ...], context: CallbackContext) -> None:
        await self._commit_places(self._fetcher.stop(partitions))
        self.note("revoke", [place.partition for place in partitions], epoch=context.epoch)

    async def on_partitions_lost(self, partitions: tuple[Partition, ...], context: CallbackContext) -> None:
        self._fetcher.stop(partitions)
        self.note("lost", [place.partition for place in partitions], epoch=context.epoch)


PROGRAMS: dict[str, type[Life]] = {
    "consumer-consume": ByConsume,
    "consumer-poll": ByPoll,
    "consumer-iterate": ByIteration,
    "aio-consumer": ByAsyncio,
    "member": ByMember,
    "aio-member": ByAsyncioMember,
}


def main() -> None:
    (task,) = json.loads(sys.argv[1])
    ended, leaves = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        ended.set()
        leaves.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGUSR1, lambda *_: leaves.set())
    keep_busy(task["switch_s"])
    while not ended.is_set():
        leaves.clear()
        if not ended.is_set():
            PROGRAMS[task["program"]](task).live(leaves)


if __name__ == "__main__":
    main()
