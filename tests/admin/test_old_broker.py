"""Groups of a broker from before KIP-848, which has neither reasons nor settings of groups."""

from __future__ import annotations

import pytest

from membership_client import GroupNotFoundError, LeaveMode, TopicPartition
from membership_client.admin import Earliest, GroupAdmin, Latest, UnsupportedByBrokerError
from membership_client.testing import KafkaCluster
from tests.integration.members import Group
from tests.records import produce

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_an_old_broker_is_administered_as_far_as_it_goes(old_kafka_version: str) -> None:
    """Groups are listed and described with lag, members removed, offsets set; errors say what the broker lacks."""
    with KafkaCluster(version=old_kafka_version) as cluster:
        group = Group(cluster.bootstrap_servers, "old-admin")
        group.admin.create_topic(group.topic, 2)
        produce(cluster.bootstrap_servers, group.topic, partitions=2, records=10)
        member = group.join("till-1", heartbeat_interval_ms=200)
        member.wait_stable()
        member.commit({TopicPartition(group.topic, 0): 1})
        with GroupAdmin(cluster.bootstrap_servers) as admin:
            assert [(found.group_id, found.state) for found in admin.list()] == [(group.id, "Stable")]
            view = admin.describe(group.id)
            (only,) = view.members
            assert (view.protocol, only.instance_id, only.topics) == ("classic", "till-1", {group.topic})
            assert view.lag == {TopicPartition(group.topic, 0): view.ends[TopicPartition(group.topic, 0)] - 1}
            assert admin.waiting_for(group.id).blockers == ()
            member.close(LeaveMode.REMAIN)
            assert [(gone.name, gone.error) for gone in admin.remove_all(group.id, force=True)] == [("till-1", None)]
            assert admin.describe(group.id).members == ()
            for target, expected in ((Latest(), view.ends), (Earliest(), dict.fromkeys(view.ends, 0))):
                admin.reset(admin.plan_reset(group.id, target, topics=[group.topic]))
                assert {p: offset.offset for p, offset in admin.describe(group.id).committed.items()} == expected
            with pytest.raises(UnsupportedByBrokerError, match="have no settings for groups"):
                admin.settings(group.id)
            with pytest.raises(GroupNotFoundError):
                admin.describe("no-such-group")
