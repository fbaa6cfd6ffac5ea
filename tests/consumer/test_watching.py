"""poll() is hardly more than the C method while records flow, and whatever the application makes of it is respected."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Message

from membership_client import Consumer
from membership_client.consumer.watching import Checked
from membership_client.testing import KafkaCluster
from tests.records import filled_topic

pytestmark = pytest.mark.kafka


@pytest.fixture
def config(kafka: KafkaCluster) -> dict[str, Any]:
    """Of a group whose topic has a thousand records."""
    name = filled_topic(kafka.bootstrap_servers, "watching", partitions=1, records=1000)
    return {"bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "auto.offset.reset": "earliest"}


def read(consumer: Consumer, count: int) -> set[bool]:
    """So many records; was poll() the quick one, before each?"""
    seen: set[bool] = set()
    while count:
        seen.add(type(consumer).poll is Checked.poll)
        count -= consumer.poll(1.0) is not None
    return seen


def test_while_records_flow_poll_is_the_quick_one(config: dict[str, Any]) -> None:
    """The C method and a look at the clock; only now and then, and while nothing comes, does it look around."""
    with Consumer(config) as consumer:
        assert type(consumer).poll is not Checked.poll
        consumer.subscribe([config["group.id"]])
        assert read(consumer, 500) == {True, False}
        assert isinstance(consumer, Consumer)
        assert type(consumer).__name__ == "Consumer"


class Noting(Consumer):
    """Knows how many of its records were watched."""

    watched = 0

    def _watched_poll(self, timeout: float = -1) -> Message | None:
        message = super()._watched_poll(timeout)
        self.watched += message is not None
        return message


def test_few_records_are_watched(kafka: KafkaCluster) -> None:
    """Eight after each look, and a look comes about once a second, or when something waits: of any number of records."""
    name = filled_topic(kafka.bootstrap_servers, "noting", partitions=1, records=50_000)
    with Noting({"bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "auto.offset.reset": "earliest"}) as c:
        c.subscribe([name])
        read(c, 50_000)
        assert 8 <= c.watched < 1_000


class Counting(Consumer):
    """An application's own poll()."""

    calls = 0

    def poll(self, timeout: float = -1) -> Message | None:
        self.calls += 1
        return super().poll(timeout)


def test_a_subclass_sees_every_call(config: dict[str, Any]) -> None:
    """It was bypassed by the watched calls once."""
    with Counting(config) as consumer:
        consumer.subscribe([config["group.id"]])
        made = read_counting(consumer, 200)
        assert consumer.calls == made


def read_counting(consumer: Consumer, count: int) -> int:
    made = 0
    while count:
        made += 1
        count -= consumer.poll(1.0) is not None
    return made
