"""Groups of a cluster of several brokers, each of which knows only a part."""

from __future__ import annotations

import pytest

from membership_client import TopicPartition
from membership_client.admin import GroupAdmin, Latest
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.records import filled_topic

pytestmark = [pytest.mark.kafka, pytest.mark.cluster]


def test_every_broker_is_asked_for_what_only_it_knows(kafka_cluster: KafkaCluster) -> None:
    """Groups of their coordinators, ends of partitions of their leaders."""
    topic = filled_topic(kafka_cluster.bootstrap_servers, "cluster", partitions=6, records=60)
    groups = [f"{topic}-{number}" for number in range(9)]
    with GroupAdmin({"bootstrap.servers": kafka_cluster.bootstrap_servers.split(",")[0]}) as admin:
        for group in groups:
            admin.reset(admin.plan_reset(group, Latest(), topics=[topic]))
        assert [found.group_id for found in admin.list(prefix=topic, states=["EMPTY"])] == groups
        assert admin.list(prefix=topic, states=["stable"]) == ()
        view = admin.describe(groups[0])
    assert view.ends == {TopicPartition(topic, number): 10 for number in range(6)}
    assert set(view.lag.values()) == {0}
    coordinators = {ClusterAdmin(kafka_cluster.bootstrap_servers).coordinator(group) for group in groups}
    assert len(coordinators) > 1
