"""Groups of a cluster of several brokers, each of which knows only a part."""

from __future__ import annotations

import pytest

from membership_client import TopicPartition
from membership_client.admin import Earliest, GroupAdmin, Latest
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import PATIENCE_S
from tests.records import filled_topic

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_every_broker_is_asked_for_what_only_it_knows(kafka_cluster: KafkaCluster) -> None:
    """Coordinators are asked for groups, and leaders for the ends of partitions."""
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


def test_a_coordinator_that_is_gone_is_looked_for_anew(kafka_cluster: KafkaCluster) -> None:
    """The coordinator is remembered, and forgotten when it does not answer or says that it is not the coordinator."""
    topic = filled_topic(kafka_cluster.bootstrap_servers, "moving", partitions=1, records=4)
    with GroupAdmin(kafka_cluster.bootstrap_servers, timeout_s=PATIENCE_S) as admin:
        admin.reset(admin.plan_reset(topic, Earliest(), topics=[topic]))
        before = admin.describe(topic, lag=False)
        number = ClusterAdmin(kafka_cluster.bootstrap_servers).coordinator(topic)
        kafka_cluster.terminate(number)
        try:
            assert admin.describe(topic, lag=False) == before
            assert admin.committed(topic, [TopicPartition(topic, 0)])[TopicPartition(topic, 0)].offset == 0
        finally:
            kafka_cluster.restart(number)
