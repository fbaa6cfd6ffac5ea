"""Groups as their coordinators describe them, of both protocols."""

from __future__ import annotations

import threading

import confluent_kafka
import pytest

from membership_client import ConnectionProblem, GroupMember, GroupNotFoundError, RebalanceListener, TopicPartition
from membership_client.admin import GroupAdmin, GroupView
from membership_client.testing import KafkaCluster
from tests.integration.members import PATIENCE_S, eventually
from tests.records import filled_topic

pytestmark = pytest.mark.kafka


@pytest.fixture
def group(kafka: KafkaCluster) -> str:
    """A topic with four partitions of ten records each, and a group of the same name."""
    return filled_topic(kafka.bootstrap_servers, "admin", partitions=4, records=40)


def joined(kafka: KafkaCluster, group: str, instance_id: str, listener: object | None = None) -> GroupMember:
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "group.instance.id": instance_id}
    member = GroupMember(config, listener=listener)
    member.subscribe([group])
    return member


def test_a_group_is_described_with_what_its_members_have(kafka: KafkaCluster, admin: GroupAdmin, group: str) -> None:
    """Instance id, host, epoch, current and target assignment, and how far behind it is."""
    with joined(kafka, group, "till-1") as member:
        member.wait_until(lambda now: len(now.owned) == 4, PATIENCE_S)
        member.commit({TopicPartition(group, 0): 4})
        view = eventually(lambda: _settled(admin, group, 1), "a settled group")
        assert view is not None
        assert (view.protocol, view.assignor, view.epoch) == ("consumer", "uniform", member.epoch)
        (only,) = view.members
        assert (only.name, only.epoch, only.current) == ("till-1", member.epoch, member.assignment())
        assert only.host == "/127.0.0.1"
        assert (only.topics, only.is_classic) == ({group}, False)
        assert view.coordinator is not None
        assert view.lag == {TopicPartition(group, 0): 6}
        assert view.waits() == ()


def _settled(admin: GroupAdmin, group: str, members: int) -> GroupView | None:
    view = admin.describe(group)
    return view if view.state == "Stable" and len(view.members) == members else None


def test_who_holds_back_the_others_is_named(kafka: KafkaCluster, admin: GroupAdmin, group: str) -> None:
    """A revoke that does not return: whose, of what, and who waits for it."""
    leave = threading.Event()

    class Slow(RebalanceListener):
        def on_partitions_revoked(self, partitions: object, context: object) -> None:
            leave.wait(PATIENCE_S)

    with joined(kafka, group, "slow", Slow()) as slow:
        slow.wait_until(lambda now: len(now.owned) == 4, PATIENCE_S)
        with joined(kafka, group, "waiting") as waiting:
            (wait,) = eventually(lambda: admin.describe(group, lag=False).waits(), "somebody who is waited for")
            leave.set()
            assert (wait.holder.name, wait.waiting, len(wait.partitions)) == ("slow", ("waiting",), 2)
            waiting.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)


def test_a_classic_group_is_described_too(kafka: KafkaCluster, admin: GroupAdmin, group: str) -> None:
    """Without epochs, which its coordinator does not tell."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"{group}-classic", "group.instance.id": "old-1"}
    )
    consumer.subscribe([group])
    eventually(lambda: (consumer.poll(0.1), len(consumer.assignment()) == 4)[1], "a classic assignment")
    view = admin.describe(f"{group}-classic")
    consumer.close()
    assert (view.protocol, view.state, view.epoch, view.assignor) == ("classic", "Stable", None, "range")
    (only,) = view.members
    assert (only.instance_id, len(only.current), only.topics) == ("old-1", 4, {group})


def test_a_group_that_does_not_exist_is_said_not_to(admin: GroupAdmin) -> None:
    """With its name."""
    with pytest.raises(GroupNotFoundError, match="no-such-group"):
        admin.describe("no-such-group")


def test_a_cluster_that_does_not_answer_is_an_error_in_time() -> None:
    """And not a wait for ever."""
    with (
        GroupAdmin("127.0.0.1:1", timeout_s=0.5) as admin,
        pytest.raises(ConnectionProblem, match=r"Given up after 0\.5 s"),
    ):
        admin.describe("any")
