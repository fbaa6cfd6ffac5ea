"""One consumer, of either kind, that reads the same records again and again against the clock."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

import confluent_kafka
from confluent_kafka import TopicPartition

import membership_client

Style = Literal["poll", "iterate", "consume"]

STATISTICS_MS = 100


class Lap(NamedTuple):
    records: int
    seconds: float
    cpu_s: float
    """Of the thread that polls."""


def racing_config(servers: str, name: str, records: int) -> dict[str, Any]:
    """A group of its own, whose librdkafka fetches so many records ahead and says how many it has."""
    return {
        "bootstrap.servers": servers,
        "group.id": f"{name}-{uuid.uuid4().hex[:8]}",
        "group.protocol": "consumer",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "queued.min.messages": records,
        "statistics.interval.ms": STATISTICS_MS,
    }


def fetched(statistics: str, topic: str) -> int:
    """How many records librdkafka has fetched and not yet given."""
    partitions = json.loads(statistics)["topics"].get(topic, {"partitions": {}})["partitions"]
    return sum(partition["fetchq_cnt"] for partition in partitions.values())


class Racer:
    """Reads a topic that has so many records."""

    def __init__(
        self,
        consumer: type[confluent_kafka.Consumer],
        servers: str,
        name: str,
        topic: str,
        records: int,
        *,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._topic = topic
        self._records = records
        self._fetched = 0
        config = racing_config(servers, f"{topic}-{name}", records) | {"stats_cb": self._on_statistics}
        self._consumer = consumer({**config, **(more or {})})
        self._consumer.subscribe([topic])
        can_iterate = isinstance(self._consumer, membership_client.Consumer)
        self._ways: dict[Style, Callable[[int], int]] = {
            "poll": self._poll,
            "iterate": self._iterate if can_iterate else self._poll,
            "consume": self._consume,
        }

    def get_ready(self) -> int:
        """Everything lies ready from the start on, except for the few that had to be read to learn so: how many is that?

        Statistics come with polls. They do not count what ours has in its buffer.
        """
        self._rewind()
        self._fetched, read = 0, 0
        while read + self._fetched + self._read_ahead() < self._records:
            read += self._consumer.poll(1.0) is not None
            time.sleep(STATISTICS_MS / 2000)
        return self._records - read

    def _read_ahead(self) -> int:
        """What our own consumer has taken from librdkafka already."""
        return len(self._consumer._buffer) if isinstance(self._consumer, membership_client.Consumer) else 0

    def run(self, style: Style, count: int) -> Lap:
        began_at, cpu_s = time.perf_counter(), time.thread_time()
        read = self._ways[style](count)
        return Lap(read, time.perf_counter() - began_at, time.thread_time() - cpu_s)

    def close(self) -> None:
        self._consumer.close()

    def _poll(self, count: int) -> int:
        read, consumer = 0, self._consumer
        while read < count:
            if consumer.poll(1.0) is not None:
                read += 1
        return read

    def _iterate(self, count: int) -> int:
        assert isinstance(self._consumer, membership_client.Consumer)
        return sum(1 for _ in islice(self._consumer, count))

    def _consume(self, count: int) -> int:
        read, consumer = 0, self._consumer
        while read < count:
            # Never more than there is: the last call would wait out its timeout.
            read += len(consumer.consume(min(500, count - read), 1.0))
        return read

    def _rewind(self) -> None:
        for place in self._consumer.assignment():
            self._consumer.seek(TopicPartition(place.topic, place.partition, 0))

    def _on_statistics(self, text: str) -> None:
        self._fetched = fetched(text, self._topic)
