"""The properties of the mock cluster on which tests rely."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from tests.mock_cluster import MockCluster

if TYPE_CHECKING:
    from confluent_kafka.admin import TopicMetadata


def topic(cluster: MockCluster, name: str) -> TopicMetadata:
    """What the cluster says about a topic, which it creates when asked."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    return client.list_topics(name, timeout=10).topics[name]


def test_the_mock_answers_metadata(mock_cluster: MockCluster) -> None:
    """A topic asked for by name exists, with the four partitions the mock always gives."""
    assert len(topic(mock_cluster, "anything").partitions) == 4


def test_the_mock_has_as_many_brokers_as_asked_for() -> None:
    """Each broker has an address of its own."""
    with MockCluster(brokers=3) as cluster:
        assert len(set(cluster.bootstrap_servers.split(","))) == 3


def test_the_mock_runs_consumer_groups(mock_cluster: MockCluster) -> None:
    """A consumer-protocol member gets the whole topic."""
    settings = {"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "g", "group.protocol": "consumer"}
    consumer = Consumer({**settings, "log_level": 0})
    topic(mock_cluster, "shared")
    consumer.subscribe(["shared"])
    for _ in range(300):
        consumer.poll(0.1)
        if len(consumer.assignment()) == 4:
            break
    assert len(consumer.assignment()) == 4
    consumer.close()


def test_stopping_twice_is_fine(mock_cluster: MockCluster) -> None:
    """stop() may follow a stop()."""
    mock_cluster.stop()
    mock_cluster.stop()
