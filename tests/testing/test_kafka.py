"""`KafkaCluster`, tested with real brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from membership_client.testing import ClusterAdmin, KafkaCluster, KafkaStartError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def produce(kafka: KafkaCluster, topic: str, value: bytes) -> None:
    """Writes one record to partition 0 and returns when all replicas have it."""
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all", "log_level": 0})
    producer.produce(topic, value, partition=0, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(60) == 0
    assert failures == []


def consume(kafka: KafkaCluster, topic: str, count: int) -> list[bytes | None]:
    """The first `count` values of partition 0."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "reader", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, timeout=60)]
    finally:
        consumer.close()


def test_a_started_broker_serves(kafka: KafkaCluster) -> None:
    """A topic can be created, written and read as soon as start() has returned."""
    ClusterAdmin(kafka.bootstrap_servers).create_topic("serves", partitions=2)
    produce(kafka, "serves", b"hello")
    assert consume(kafka, "serves", 1) == [b"hello"]


def test_the_log_can_be_read(kafka: KafkaCluster) -> None:
    """It has the broker's lines at INFO, without dumps of its configuration."""
    assert "Kafka Server started" in kafka.log()
    assert "KafkaConfig values" not in kafka.log()


def test_a_killed_broker_keeps_its_data(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """After SIGKILL and restart the broker has the same address and the records it acknowledged."""
    kafka = kafka_factory()
    address = kafka.bootstrap_servers
    ClusterAdmin(address).create_topic("kept")
    produce(kafka, "kept", b"before")
    kafka.kill(1)
    kafka.restart(1)
    produce(kafka, "kept", b"after")
    assert kafka.bootstrap_servers == address
    assert consume(kafka, "kept", 2) == [b"before", b"after"]


def test_settings_reach_the_broker(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """A test's own settings override the defaults of `KafkaCluster`."""
    kafka = kafka_factory(settings={"auto.create.topics.enable": "true", "num.partitions": 7})
    admin = ClusterAdmin(kafka.bootstrap_servers)
    produce(kafka, "automatic", b"x")
    admin._await_partitions("automatic", 7)


def test_a_broker_that_cannot_start_says_why(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """The error has the end of the broker's log."""
    with pytest.raises(KafkaStartError, match=r"offsets\.topic\.replication\.factor"):
        kafka_factory(settings={"offsets.topic.replication.factor": "many"})


def test_a_paused_broker_is_silent_and_recovers(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """After SIGSTOP a broker does not answer, and its port stays open; after SIGCONT it answers."""
    kafka = kafka_factory()
    broker = kafka._brokers[1]
    kafka.pause(1)
    assert broker.sees() == set()
    kafka.resume(1)
    ClusterAdmin(kafka.bootstrap_servers).create_topic("recovered")


def test_three_brokers_survive_the_loss_of_one(kafka_cluster: KafkaCluster) -> None:
    """With one broker of three killed, a replicated topic can still be written and read; then it returns."""
    ClusterAdmin(kafka_cluster.bootstrap_servers).create_topic("survives", partitions=3, replication=3)
    kafka_cluster.kill(2)
    produce(kafka_cluster, "survives", b"still here")
    assert consume(kafka_cluster, "survives", 1) == [b"still here"]
    kafka_cluster.restart(2)
    assert kafka_cluster._brokers[2].sees() == {1, 2, 3}
