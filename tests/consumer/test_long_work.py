"""A record that takes long: the poll interval as a budget, and hold() for work that may exceed it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from membership_client import Consumer, MemberState, TopicPartition
from membership_client.testing import KafkaCluster
from tests.integration.members import eventually
from tests.records import filled_topic

pytestmark = pytest.mark.kafka

NewConsumer = Callable[..., Consumer]


@pytest.fixture
def topic(kafka: KafkaCluster) -> str:
    """Four partitions with a record each, and a group of the same name."""
    return filled_topic(kafka.bootstrap_servers, "long-work", partitions=4, records=4)


@pytest.fixture
def new_consumer(kafka: KafkaCluster, topic: str) -> Iterator[NewConsumer]:
    """Consumers of that topic; none outlives the test."""
    made: list[Consumer] = []

    def make(**config: Any) -> Consumer:
        base = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
        made.append(Consumer({**base, **config}))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def next_record(consumer: Consumer) -> Message:
    record = eventually(lambda: consumer.poll(0.1), "a record")
    assert record is not None
    return record


def until_owner(consumer: Consumer, count: int) -> None:
    def owns() -> bool:
        consumer.poll(0.05)
        return len(consumer.snapshot.owned) == count and consumer.snapshot.state is MemberState.STABLE

    eventually(owns, f"an owner of {count}")


def work_for(seconds: float) -> None:
    """As an application would be busy: in Python, without polling."""
    threading.Event().wait(seconds)


def test_work_beyond_the_poll_interval_inside_hold_costs_nothing(new_consumer: NewConsumer, topic: str) -> None:
    """Three times the interval, and the member is where it was, with the epoch it had."""
    consumer = new_consumer(**{"max.poll.interval.ms": 1000})
    lost: list[object] = []
    consumer.subscribe([topic], on_revoke=lambda _, partitions: lost.extend(partitions))
    record = next_record(consumer)
    before = consumer.owner_epoch(record)
    with consumer.hold(record):
        work_for(3.0)
        assert consumer.snapshot.state is MemberState.STABLE
    assert consumer.owner_epoch(record) == before
    assert lost == []


def test_work_beyond_the_poll_interval_is_warned_of_and_then_costs_the_partitions(
    new_consumer: NewConsumer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The warnings name the record in hand and the function that has it; afterwards poll() brings the member back."""
    consumer = new_consumer(**{"max.poll.interval.ms": 1500, "enable.auto.commit": False})
    lost: list[object] = []
    consumer.subscribe([topic], on_lost=lambda _, partitions: lost.extend(partitions))
    record = next_record(consumer)
    with caplog.at_level(logging.WARNING, "membership_client"):
        eventually(lambda: consumer.snapshot.state is MemberState.STALE, "a stale member")
    stacks = [text for text in caplog.messages if "for the next poll are gone" in text]
    records = [text for text in caplog.messages if "in hand" in text]
    assert "eventually (members.py" in stacks[0]
    assert f"{record.topic()}-{record.partition()}@{record.offset()} (record in " in records[0]
    assert consumer.owner_epoch(record) is None
    error = next_record(consumer).error()
    assert error is not None
    assert error.code() == KafkaError._MAX_POLL_EXCEEDED
    assert next_record(consumer).offset() == 0
    assert len(lost) == 4


def test_who_holds_sees_that_the_group_waits_and_gives_way(new_consumer: NewConsumer, topic: str) -> None:
    """The handler ends early, and the newcomer has its share as soon as the block is left."""
    old, new = new_consumer(), new_consumer()
    revoked: list[threading.Thread] = []
    old.subscribe([topic], on_revoke=lambda *_: revoked.append(threading.current_thread()))
    until_owner(old, 4)
    mine = [TopicPartition(topic, number) for number in range(4)]
    with old.hold():
        new.subscribe([topic])
        eventually(lambda: (new.poll(0.05), any(map(old.revoke_pending, mine)))[1], "a revoke that waits")
        assert revoked == []
        assert len(old.snapshot.owned) == 4
    assert revoked == [threading.current_thread()]
    assert not any(map(old.revoke_pending, mine))
    until_owner(new, 2)


def test_partitions_that_are_not_held_are_given_up_at_once(new_consumer: NewConsumer, topic: str) -> None:
    """Long work on one partition does not delay a member that waits for another one."""
    old, new = new_consumer(), new_consumer()
    revoked: list[TopicPartition] = []
    old.subscribe([topic], listener=Listening(revoked))
    until_owner(old, 4)
    # The coordinator lets a member keep its first partitions, so this one stays.
    with old.hold(TopicPartition(topic, 0)):
        new.subscribe([topic])
        until_owner(new, 2)
        assert TopicPartition(topic, 0) not in revoked
        assert len(revoked) == 2


class Listening:
    """In kafka-python's style."""

    def __init__(self, revoked: list[TopicPartition]) -> None:
        self._revoked = revoked

    def on_partitions_revoked(self, revoked: tuple[TopicPartition, ...]) -> None:
        self._revoked.extend(revoked)
