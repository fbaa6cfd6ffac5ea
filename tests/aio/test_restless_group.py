"""Everything at once: consumers that come and go, tasks that are cancelled, and records all the while."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from membership_client import aio
from membership_client.consumer.translate import Places
from tests.aio.conftest import NewStage
from tests.aio.helpers import Stage, read, run

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

ROUNDS = 30
PER_ROUND = 100


class Restless:
    """Reads for a while, being cancelled now and then, and leaves; notes each record, which must be of a held partition."""

    def __init__(self, stage: Stage, seen: Counter[tuple[int | None, int | None]], seed: int) -> None:
        self._stage = stage
        self._seen = seen
        self._chance = random.Random(seed)
        self._held: set[int] = set()

    async def live(self, **config: Any) -> None:
        async with self._stage.consumer(**config) as consumer:
            consumer.subscribe([self._stage.topic], on_assign=self._on_assign, on_revoke=self._on_revoke)
            for _ in range(self._chance.randint(5, 40)):
                self._note(await self._take(consumer))

    async def _take(self, consumer: aio.Consumer) -> list[Message]:
        task = asyncio.create_task(consumer.getmany(max_records=self._chance.randint(1, 200), timeout_s=0.2))
        if self._chance.random() < 0.3:
            await asyncio.wait({task}, timeout=self._chance.random() * 0.01)
            task.cancel()
        (taken,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(taken, BaseException):
            assert isinstance(taken, asyncio.CancelledError), taken
            return []
        return taken

    def _note(self, messages: list[Message]) -> None:
        for message in messages:
            assert message.partition() in self._held, "a record of a partition that was given up"
            self._seen[message.partition(), message.offset()] += 1

    async def _on_assign(self, consumer: aio.Consumer, partitions: Places) -> None:
        self._held.update(place.partition for place in partitions)

    async def _on_revoke(self, consumer: aio.Consumer, partitions: Places) -> None:
        await asyncio.sleep(self._chance.random() * 0.02)
        await commit_if_any(consumer)
        self._held.difference_update(place.partition for place in partitions)


async def commit_if_any(consumer: aio.Consumer) -> None:
    try:
        await consumer.commit()
    except KafkaException as error:
        if error.args[0].code() != KafkaError._NO_OFFSET:
            raise


@pytest.mark.parametrize("auto_commit", [True, False])
def test_no_record_is_lost_or_comes_twice(new_stage: NewStage, auto_commit: bool) -> None:
    """Each is handed out once, to a consumer that holds its partition, and the next owner starts behind it."""
    stage = new_stage(partitions=6)
    seen: Counter[tuple[int | None, int | None]] = Counter()

    async def lives(seed: int) -> None:
        reader = Restless(stage, seen, seed)
        for _ in range(4):
            await reader.live(enable_auto_commit=auto_commit, auto_commit_interval_ms=100)

    async def produce() -> None:
        for _ in range(ROUNDS):
            await asyncio.to_thread(stage.produce, PER_ROUND)

    async def story() -> None:
        await asyncio.gather(produce(), *map(lives, range(3)))
        total = 6 * ROUNDS * PER_ROUND
        async with stage.consumer() as consumer:
            consumer.subscribe([stage.topic])
            for message in await read(consumer, total - len(seen)):
                seen[message.partition(), message.offset()] += 1
        assert len(seen) == total
        assert set(seen.values()) == {1}

    run(story())
