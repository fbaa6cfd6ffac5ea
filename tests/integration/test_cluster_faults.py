"""Three brokers that go and come back, one by one and all at once, under members in every state and both protocols."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from membership_client import Consumer
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import QUICK, eventually
from tests.integration.scenes import PARTITIONS, PROTOCOLS, Stage

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

TOPIC = "failover"


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    """With a topic on all brokers, and groups that are quick without being told."""
    quick = {"group.consumer.heartbeat.interval.ms": 500, "group.consumer.assignment.interval.ms": 0}
    with KafkaCluster(brokers=3, settings=quick) as cluster:
        ClusterAdmin(cluster.bootstrap_servers).create_topic(TOPIC, PARTITIONS, replication=3)
        yield cluster


def roll(cluster: KafkaCluster, stage: Stage) -> None:
    """One after the other; some say goodbye and some do not. The first is the one that coordinates all groups on stage."""
    others = [number for number in cluster.brokers if number != stage.coordinator]
    pause_and_kill(cluster, stage.act, [stage.coordinator])
    for number in others:
        cluster.resume(number)
    cluster.restart(stage.coordinator)
    for number, end in zip(others, (cluster.terminate, cluster.kill), strict=True):
        end(number)
        cluster.restart(number)


def restart_all(cluster: KafkaCluster, stage: Stage) -> None:
    pause_and_kill(cluster, stage.act, cluster.brokers)
    cluster.start_all()


def pause_and_kill(cluster: KafkaCluster, act: Callable[[], None], doomed: list[int]) -> None:
    """What members do here is under way when their coordinator dies: a paused broker takes requests and answers none."""
    for number in cluster.brokers:
        cluster.pause(number)
    act()
    for number in doomed:
        cluster.kill(number)


@pytest.mark.parametrize("outage", [roll, restart_all])
def test_members_outlive_their_brokers(cluster: KafkaCluster, outage: Callable[[KafkaCluster, Stage], None]) -> None:
    """Joining, in each callback, acknowledging, stable, committing, leaving: none ends, and all are well when it is over.

    Consumers of both protocols read on wherever the leaders are, and miss nothing.
    """
    with Stage(cluster.bootstrap_servers, TOPIC) as stage, contextlib.ExitStack() as readers:
        readings = [Reading(cluster, f"{outage.__name__}-{name}", name, replication=3) for name in PROTOCOLS]
        for reading in readings:
            readers.enter_context(reading.consumer)
            reading.expect(10)
        stage.prepare()
        outage(cluster, stage)
        stage.finish()
        for reading in readings:
            reading.expect(20, beginning_at=10)


class Reading:
    """A consumer of a topic with that number of records in each of two partitions."""

    def __init__(self, kafka: KafkaCluster, topic: str, protocol: str, *, replication: int = 1) -> None:
        self.admin = ClusterAdmin(kafka.bootstrap_servers)
        self._topic, self._replication = topic, replication
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        self.admin.set_group_config(topic, **QUICK)
        self.create()
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "group.protocol": protocol}
        more = {
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "metadata.max.age.ms": 1000,
            "log_level": 0,
        }
        self.consumer = Consumer(config | more)
        self.consumer.subscribe([topic])

    def create(self) -> None:
        self.admin.create_topic(self._topic, 2, replication=self._replication)

    def expect(self, records: int, *, beginning_at: int = 0) -> None:
        """So many more of each partition come, from that offset on."""
        batch = uuid.uuid4().bytes
        for number in range(2 * records):
            self._producer.produce(self._topic, batch, partition=number % 2)
        self._producer.flush()
        seen: set[tuple[int | None, int | None]] = set()
        wanted = {(number % 2, beginning_at + number // 2) for number in range(2 * records)}
        eventually(lambda: self._note(seen, batch) == wanted, f"{records} records of each partition")

    def _note(self, seen: set[tuple[int | None, int | None]], batch: bytes) -> set[tuple[int | None, int | None]]:
        messages = self.consumer.consume(100, 0.1)
        seen.update((message.partition(), message.offset()) for message in messages if message.value() == batch)
        return seen


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_a_topic_that_is_created_anew_is_read_anew(kafka: KafkaCluster, protocol: str) -> None:
    """Its partitions have the names of the old ones, and nothing else of them: not even their positions, which exist here, too."""
    name = f"anew-{uuid.uuid4().hex[:8]}"
    reading = Reading(kafka, name, protocol)
    with reading.consumer:
        reading.expect(10)
        reading.admin.delete_topic(name)
        reading.create()
        reading.expect(30)
