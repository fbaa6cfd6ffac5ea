"""One asyncio consumer, of either library, that reads the same records again and again against the clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Literal

from confluent_kafka import TopicPartition

from membership_client import aio
from tests.benchmarks.racer import STATISTICS_MS, Lap, fetched, racing_config

Style = Literal["poll", "consume"]


class AsyncioRacer:
    """Reads a topic that has so many records, by the methods that both libraries have."""

    def __init__(self, consumer: Callable[[dict[str, Any]], Any], servers: str, topic: str, records: int) -> None:
        self._topic = topic
        self._records = records
        self._fetched = 0
        config = racing_config(servers, f"{topic}-asyncio", records) | {"stats_cb": self._on_statistics}
        self._consumer = consumer(config)

    async def start(self) -> None:
        await self._consumer.subscribe([self._topic])

    async def get_ready(self) -> int:
        """Everything lies ready from the start on, except for the few that had to be read to learn so: how many is that?"""
        for place in await self._consumer.assignment():
            await self._consumer.seek(TopicPartition(place.topic, place.partition, 0))
        self._fetched, read = 0, 0
        while read + self._fetched + self._read_ahead() < self._records:
            read += await self._consumer.poll(1.0) is not None
            await asyncio.sleep(STATISTICS_MS / 2000)
        return self._records - read

    def _read_ahead(self) -> int:
        """What our own consumer has taken from librdkafka already."""
        return len(self._consumer._fetcher._buffer) if isinstance(self._consumer, aio.Consumer) else 0

    async def run(self, style: Style, count: int) -> Lap:
        began_at, cpu_s = time.perf_counter(), time.process_time()
        read = await (self._poll(count) if style == "poll" else self._consume(count))
        return Lap(read, time.perf_counter() - began_at, time.process_time() - cpu_s)

    async def close(self) -> None:
        await self._consumer.close()

    async def _poll(self, count: int) -> int:
        read, consumer = 0, self._consumer
        while read < count:
            if await consumer.poll(1.0) is not None:
                read += 1
        return read

    async def _consume(self, count: int) -> int:
        read, consumer = 0, self._consumer
        while read < count:
            # Never more than there is: the last call would wait out its timeout.
            read += len(await consumer.consume(min(500, count - read), 1.0))
        return read

    async def _on_statistics(self, text: str) -> None:
        self._fetched = fetched(text, self._topic)
