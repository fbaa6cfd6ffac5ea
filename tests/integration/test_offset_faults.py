"""Commits whose coordinator dies, or whose answer is lost."""

from __future__ import annotations

import threading
import uuid

import pytest

from membership_client import (
    Offset,
    TopicPartition,
)
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.conftest import GroupFactory, ProxiedKafka
from tests.integration.members import Group

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_a_commit_survives_a_coordinator_that_dies(kafka_cluster: KafkaCluster, new_group: GroupFactory) -> None:
    """It finds the new one by itself and goes on with the newest epoch."""
    group = Group(kafka_cluster.bootstrap_servers, f"offsets-{uuid.uuid4().hex[:6]}")
    ClusterAdmin(kafka_cluster.bootstrap_servers).create_topic(group.topic, 6, replication=3)
    member = group.join()
    member.wait(lambda snapshot: len(snapshot.owned) == 6)
    coordinator = group.admin.coordinator(group.id)
    kafka_cluster.kill(coordinator)
    try:
        member.commit({TopicPartition(group.topic, 0): 7}, timeout_s=40)
        assert member.committed([TopicPartition(group.topic, 0)], timeout_s=40) == {
            TopicPartition(group.topic, 0): Offset(7)
        }
    finally:
        kafka_cluster.restart(coordinator)
        group.close()


def test_a_lost_answer_is_asked_for_again(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """The connection breaks under a commit: the commit is repeated and arrives."""
    group = new_group(proxied_kafka)
    member = group.join_alone()
    proxied_kafka.proxy.cut()
    timer = threading.Timer(0.5, proxied_kafka.proxy.mend)
    timer.start()
    member.commit({TopicPartition(group.topic, 0): 8}, timeout_s=30)
    timer.join()
    assert member.committed([TopicPartition(group.topic, 0)]) == {TopicPartition(group.topic, 0): Offset(8)}
