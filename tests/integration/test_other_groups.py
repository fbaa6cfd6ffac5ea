"""Brokers without the consumer protocol, and groups of another kind."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition

from membership_client import BrokerTooOldError, GroupTypeError, MemberState, TopicLayout
from membership_client.core.assignors.registry import BUILT_IN
from membership_client.testing import KafkaCluster
from tests.integration.classic import wait_shared
from tests.integration.members import Group, eventually
from tests.peers.by_hand import MemberByHand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.integration.conftest import GroupFactory

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


class ClassicConsumer:
    """A consumer of the classic protocol, on a thread of its own."""

    def __init__(self, group: Group) -> None:
        self.owned: set[int] = set()
        self._group = group
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._consume)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _consume(self) -> None:
        settings = {"bootstrap.servers": self._group.bootstrap_servers, "group.id": self._group.id, "log_level": 0}
        consumer = Consumer(settings | {"partition.assignment.strategy": "cooperative-sticky"})
        consumer.subscribe([self._group.topic], on_assign=self._assigned, on_revoke=self._revoked)
        while not self._stopped.is_set():
            consumer.poll(0.1)
        consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.owned |= {partition.partition for partition in partitions}

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.owned -= {partition.partition for partition in partitions}


@contextlib.contextmanager
def classic_consumer(group: Group) -> Iterator[ClassicConsumer]:
    consumer = ClassicConsumer(group)
    try:
        yield consumer
    finally:
        consumer.stop()


def test_a_broker_without_the_consumer_protocol(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """It is fatal, and the text says which brokers to use and what to enable on them."""
    kafka = kafka_factory(settings={"group.coordinator.rebalance.protocols": "classic"})
    group = Group(kafka.bootstrap_servers, "old-broker")
    group.admin.create_topic(group.topic)
    member = group.join(group_protocol="consumer")
    with pytest.raises(BrokerTooOldError, match=r"Kafka 4\.0 or later with the consumer protocol"):
        member.wait_stable()
    assert member.close().clean


@pytest.fixture(scope="module")
def strict_kafka() -> Iterator[KafkaCluster]:
    """A broker that converts no group."""
    with KafkaCluster(settings={"group.consumer.migration.policy": "disabled"}) as cluster:
        yield cluster


def test_a_classic_group_that_may_not_be_converted(strict_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """The group is of another kind: fatal, with the broker's words; once it is empty, subscribe() succeeds."""
    group = new_group(strict_kafka)
    member = group.member(group_protocol="consumer")
    with classic_consumer(group) as classic:
        eventually(lambda: len(classic.owned) == 6, "a classic group")
        member.subscribe([group.topic])
        with pytest.raises(GroupTypeError, match=r"classic|consumer protocol"):
            member.wait_stable()
        assert member.snapshot.state is MemberState.FATAL
        assert len(classic.owned) == 6
    member.subscribe([group.topic])
    group.wait_for_shares([member], group.partitions(6))


def test_a_group_of_kip_848_that_may_not_be_converted(strict_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """A classic member is told that the group is of another kind, and not that some strategy is missing."""
    group = new_group(strict_kafka)
    modern, member = group.join(), group.member(group_protocol="classic")
    group.wait_for_shares([modern], group.partitions(6))
    member.subscribe([group.topic])
    with pytest.raises(GroupTypeError, match="not a classic group"):
        member.wait_stable()
    assert modern.assignment() == group.partitions(6)
    modern.close()
    member.subscribe([group.topic])
    wait_shared(group, [member])


class Worker(MemberByHand):
    """One of Kafka Connect's."""

    protocol_type = "connect"


def test_a_group_of_kafka_connect(group: Group) -> None:
    """Its workers are no consumers: the error says whose group it is."""
    group.join(group_protocol="classic").wait_stable()
    group.close()
    with Worker(group.bootstrap_servers, group.id, BUILT_IN["range"], {group.topic: TopicLayout(6)}) as worker:
        worker.join()
        with pytest.raises(GroupTypeError, match="it is a group of connect"):
            group.join(group_protocol="classic").wait_stable()


def test_a_classic_group_is_converted_while_it_runs(group: Group) -> None:
    """The usual migration: our member joins a running classic group, and both protocols share the partitions."""
    with classic_consumer(group) as classic:
        eventually(lambda: len(classic.owned) == 6, "a classic group")
        member = group.join()
        eventually(lambda: (len(classic.owned), len(member.assignment())) == (3, 3), "a shared group")
        assert member.error is None
    eventually(lambda: member.assignment() == group.partitions(6), "everything, after the last classic member left")
