"""Three brokers that go and come back, one by one and all at once, under members in every state and both protocols."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Message, Producer

from membership_client import Consumer
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import QUICK, eventually
from tests.integration.scenes import PARTITIONS, Stage

pytestmark = [pytest.mark.kafka, pytest.mark.cluster, pytest.mark.slow]

TOPIC = "failover"


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    """With a topic on all brokers, and groups that are quick without being told."""
    quick = {"group.consumer.heartbeat.interval.ms": 500, "group.consumer.assignment.interval.ms": 0}
    with KafkaCluster(brokers=3, settings=quick) as cluster:
        ClusterAdmin(cluster.bootstrap_servers).create_topic(TOPIC, PARTITIONS, replication=3)
        yield cluster


def roll(cluster: KafkaCluster) -> None:
    """One after the other; some say goodbye and some do not. Every group's coordinator is among them."""
    for number, end in zip(cluster.brokers, (cluster.kill, cluster.terminate, cluster.kill), strict=True):
        end(number)
        cluster.restart(number)


def restart_all(cluster: KafkaCluster) -> None:
    for number in cluster.brokers:
        cluster.kill(number)
    cluster.start_all()


@pytest.mark.parametrize("outage", [roll, restart_all])
def test_members_outlive_their_brokers(cluster: KafkaCluster, outage: Callable[[KafkaCluster], None]) -> None:
    """Joining, revoking, acknowledging, stable, committing, leaving: none ends, and all are well when it is over."""
    with Stage(cluster.bootstrap_servers, TOPIC) as stage:
        stage.prepare()
        stage.act()
        outage(cluster)
        stage.finish()


class Reading:
    """A consumer of a topic that has so many records in each of two partitions."""

    def __init__(self, kafka: KafkaCluster, topic: str, protocol: str) -> None:
        self.admin = ClusterAdmin(kafka.bootstrap_servers)
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        self.admin.set_group_config(topic, **QUICK)
        self.create()
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "group.protocol": protocol}
        more = {"auto.offset.reset": "earliest", "metadata.max.age.ms": 1000, "log_level": 0}
        self.consumer = Consumer(config | more)
        self.consumer.subscribe([topic])

    def create(self) -> None:
        self.admin.create_topic(self._topic, 2)

    def expect(self, records: int) -> None:
        """They come, from the first one on."""
        for number in range(2 * records):
            self._producer.produce(self._topic, b"record", partition=number % 2)
        self._producer.flush()
        seen: set[tuple[int | None, int | None]] = set()
        wanted = {(number % 2, number // 2) for number in range(2 * records)}
        eventually(lambda: self._note(seen) == wanted, f"{records} records of each partition")

    def _note(self, seen: set[tuple[int | None, int | None]]) -> set[tuple[int | None, int | None]]:
        seen.update((message.partition(), message.offset()) for message in self._read())
        return seen

    def _read(self) -> list[Message]:
        return [message for message in self.consumer.consume(100, 0.1) if message.error() is None]


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_topic_that_is_created_anew_is_read_anew(kafka: KafkaCluster, protocol: str) -> None:
    """Its partitions have the names of the old ones, and nothing else of them."""
    name = f"anew-{uuid.uuid4().hex[:8]}"
    reading = Reading(kafka, name, protocol)
    with reading.consumer:
        reading.expect(10)
        reading.admin.delete_topic(name)
        reading.create()
        reading.expect(4)
