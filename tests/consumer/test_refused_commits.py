"""A commit that the coordinator refuses because the member is gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, Message, Producer

from membership_client import Consumer
from membership_client.testing import EmbeddedKafka

PATIENCE_S = 40.0
INTERVAL_MS = 600_000
"""No heartbeat that is sent in its turn tells the member anything while the test lasts."""
SETTINGS: dict[str, str | int] = {
    "group.consumer.heartbeat.interval.ms": INTERVAL_MS,
    "group.consumer.session.timeout.ms": 3 * INTERVAL_MS,
    "group.max.session.timeout.ms": 3 * INTERVAL_MS,
    "group.consumer.assignment.interval.ms": 0,
}
CLASSIC: dict[str, object] = {"session.timeout.ms": 3 * INTERVAL_MS, "heartbeat.interval.ms": INTERVAL_MS}


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 1}, settings=SETTINGS) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(1_000):
            producer.produce("orders", str(number))
        producer.flush(PATIENCE_S)
        yield cluster


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_partitions_are_lost_at_once_when_a_commit_is_refused(embedded: EmbeddedKafka, protocol: str) -> None:
    """The application was once given records until the next heartbeat, for up to five seconds by default."""
    config: dict[str, object] = {
        "bootstrap.servers": embedded.bootstrap_servers,
        "group.id": "shop",
        "group.protocol": protocol,
    }
    config |= {"auto.offset.reset": "earliest", "enable.auto.commit": False, "max.poll.interval.ms": 4 * INTERVAL_MS}
    calls: list[str] = []
    with Consumer(config | (CLASSIC if protocol == "classic" else {})) as consumer:
        consumer.subscribe(["orders"], on_lost=lambda *_: calls.append("lost"))
        first = _next_record(consumer)
        embedded.expire_session(consumer.memberid() or "")
        with pytest.raises(KafkaException):
            consumer.commit(first, asynchronous=False)
        # The poll() that runs on_lost may return the first record of the next ownership.
        again = next(message for message in iter(lambda: _next_record(consumer), None) if calls)
        assert calls == ["lost"]
        assert again.offset() == first.offset()


def _next_record(consumer: Consumer) -> Message:
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert message.error() is None, message.error()
    return message
