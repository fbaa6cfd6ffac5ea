"""poll() is a look at the clock and a record out of the buffer, and whatever the application makes of it is respected."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Message

from membership_client import Consumer
from membership_client.testing import KafkaCluster
from tests.records import filled_topic

pytestmark = pytest.mark.kafka


@pytest.fixture
def config(kafka: KafkaCluster) -> dict[str, Any]:
    """Of a group whose topic has a thousand records."""
    name = filled_topic(kafka.bootstrap_servers, "handing-out", partitions=1, records=1000)
    return {"bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "auto.offset.reset": "earliest"}


class Counting(Consumer):
    """An application's own poll()."""

    calls = 0

    def poll(self, timeout: float = -1) -> Message | None:
        self.calls += 1
        return super().poll(timeout)


def test_a_subclass_sees_every_call(config: dict[str, Any]) -> None:
    """It was bypassed by some of them once."""
    with Counting(config) as consumer:
        consumer.subscribe([config["group.id"]])
        made, read = 0, 0
        while read < 200:
            made += 1
            read += consumer.poll(1.0) is not None
        assert consumer.calls == made


def test_a_consumer_is_of_its_class(config: dict[str, Any]) -> None:
    """Also while records flow: the object changed its class once."""
    with Consumer(config) as consumer:
        consumer.subscribe([config["group.id"]])
        for _, record in zip(range(500), consumer, strict=False):
            assert record.error() is None
            assert type(consumer) is Consumer


def test_all_ways_to_read_share_one_buffer(config: dict[str, Any]) -> None:
    """Records come in their order, each once, however poll(), consume() and iteration take turns."""
    with Consumer(config) as consumer:
        consumer.subscribe([config["group.id"]])
        offsets: list[int | None] = []
        while len(offsets) < 1000:
            if (message := consumer.poll(1.0)) is not None:
                offsets.append(message.offset())
            offsets += [message.offset() for message in consumer.consume(7, 0.1)]
            if len(offsets) < 1000:
                offsets.append(next(iter(consumer)).offset())
        assert offsets == list(range(1000))


def test_no_records_asked_for(config: dict[str, Any]) -> None:
    """consume(0) returns nothing at once, as confluent-kafka's does; with records in the buffer it never returned."""
    with Consumer(config) as consumer:
        consumer.subscribe([config["group.id"]])
        while consumer.poll(1.0) is None:
            pass
        assert consumer.consume(0, 1.0) == []
        assert consumer.consume(0) == []
