"""Committed offsets that are not to be had: the consumer says what it waits for."""

from __future__ import annotations

import functools
import logging

import pytest
from confluent_kafka import Producer

from membership_client import Consumer
from membership_client.consumer.start_offsets import OffsetWait, reason
from membership_client.errors import OffsetTimeoutError
from membership_client.types import TopicPartition
from tests.consumer.helpers import World
from tests.integration.members import eventually
from tests.mock_cluster import MockCluster


def test_a_wait_is_told_of_after_seconds_and_then_once_a_minute() -> None:
    """Offsets mostly come within milliseconds, and an operator does not read the same line every second."""
    wait = OffsetWait(100.0)
    assert [at for at in range(100, 240) if wait.is_to_tell(at)] == [105, 165, 225]


def test_what_is_waited_for_is_named() -> None:
    """With the coordinator's word, and what an open transaction means."""
    error = OffsetTimeoutError("Given up after 2 s: UNSTABLE_OFFSET_COMMIT for orders-0.")
    said = reason([TopicPartition("orders", 0), TopicPartition("orders", 1)], error)
    assert said.startswith(
        "the committed offsets of 2 partitions of orders (Given up after 2 s: UNSTABLE_OFFSET_COMMIT"
    )
    assert "a transaction that is still open" in said
    other = reason([TopicPartition("orders", 0)], OffsetTimeoutError("the coordinator did not answer."))
    assert other == "the committed offsets of 1 partition of orders (the coordinator did not answer)"


@pytest.mark.kafka
def test_an_open_transaction_is_named(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The bug: the consumer was ready, and waited for ever without a word."""
    caplog.set_level(logging.WARNING, logger="membership_client")
    old = world.owner()
    producer = Producer({"bootstrap.servers": world.bootstrap_servers, "transactional.id": world.group.id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send_offsets_to_transaction([world.place(0, 6)], old.consumer.consumer_group_metadata())
    old.consumer.close()
    new = world.join()
    delay = eventually(lambda: (new.poll(), new.consumer.snapshot.delay)[1], "a word about the wait")
    assert delay is not None
    assert delay.seconds >= 5
    assert "UNSTABLE_OFFSET_COMMIT" in delay.why
    assert "the assigned callback waits for the committed offsets of 4 partitions" in new.consumer.health().why
    assert any(delay.why in line for line in caplog.messages)
    assert any("CallbackDelayed" in line for line in new.consumer._member.trace.lines())
    producer.abort_transaction()
    world.settle(new)
    assert new.consumer.snapshot.delay is None


def test_offsets_of_a_broker_that_does_not_wait_for_transactions(mock_cluster: MockCluster) -> None:
    """The mock cluster of librdkafka lacks the version that waits: it was asked for ever, and later not at all.

    Records are read, and the next consumer goes on where this one committed.
    """
    servers = {"bootstrap.servers": mock_cluster.bootstrap_servers, "log_level": 0}
    producer = Producer(servers)
    producer.list_topics("orders", timeout=10)  # The mock creates what is asked for by name.
    config = {**servers, "group.id": "mocked", "auto.offset.reset": "earliest"}
    for number in range(2):
        producer.produce("orders", str(number).encode(), partition=0)
        producer.flush()
        with Consumer(config) as consumer:
            consumer.subscribe(["orders"])
            message = eventually(functools.partial(consumer.poll, 0.1), "a record")
            assert message is not None
            assert (message.error(), message.value()) == (None, str(number).encode())
            consumer.commit(message, asynchronous=False)
