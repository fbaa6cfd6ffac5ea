"""A broker from before KIP-848: 2.8.2, or whichever `--old-kafka` names. What it does not know is done without."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from membership_client import (
    BrokerTooOldError,
    Consumer,
    GroupProtocol,
    LeaveMode,
    TopicPartition,
)
from membership_client.admin import GroupAdmin
from membership_client.testing import KafkaCluster
from tests.integration.classic import STRATEGIES, read, rebalances, wait_shared
from tests.integration.members import Group, assert_never_shared, eventually, log_about
from tests.records import produce

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


@dataclass(frozen=True)
class OldKafka:
    cluster: KafkaCluster
    version: str

    @property
    def has_reasons(self) -> bool:
        """KIP-800: joins and leaves say why."""
        major, minor, _ = map(int, self.version.split("."))
        return (major, minor) >= (3, 2)


@pytest.fixture(scope="module")
def old_kafka(old_kafka_version: str) -> Iterator[OldKafka]:
    with KafkaCluster(version=old_kafka_version) as cluster:
        assert f"Kafka version: {old_kafka_version} " in cluster.log()
        yield OldKafka(cluster, old_kafka_version)


@pytest.fixture
def group(old_kafka: OldKafka) -> Iterator[Group]:
    """Its topic has six partitions."""
    made = Group(old_kafka.cluster.bootstrap_servers, "old")
    made.admin.create_topic(made.topic, 6)
    yield made
    made.close()


def quickly(strategy: str = "range", **more: Any) -> dict[str, Any]:
    return {"heartbeat_interval_ms": 200, "partition_assignment_strategy": (strategy,), **more}


def test_auto_speaks_the_classic_protocol(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    """It finds out by itself, and the snapshot and the log say so."""
    with caplog.at_level(logging.INFO, "membership_client"):
        member = group.join(**quickly())
        assert member.wait_stable().protocol is GroupProtocol.CLASSIC
    assert member.assignment() == group.partitions(6)
    (told,) = (line for line in caplog.messages if "classic protocol" in line)
    assert "KIP-848" in told


def test_the_consumer_protocol_is_refused_by_name(group: Group) -> None:
    """Fatal and typed; what to do about it is in the text."""
    member = group.join(group_protocol="consumer")
    with pytest.raises(BrokerTooOldError, match=r"Kafka 4\.0 or later with the consumer protocol"):
        member.wait_stable()
    assert member.close().clean


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_come_and_go(group: Group, strategy: str) -> None:
    """Two, then three, then two: the members own all partitions together, and each has one owner."""
    members = [group.join(**quickly(strategy)), group.join(**quickly(strategy))]
    wait_shared(group, members)
    members.append(group.join(**quickly(strategy)))
    wait_shared(group, members)
    assert [len(member.assignment()) for member in members] == [2, 2, 2]
    members.pop(0).close()
    wait_shared(group, members)
    assert_never_shared(group.members)


@pytest.mark.parametrize("who", ["one", "two"])
def test_a_static_restart_disturbs_nobody(old_kafka: OldKafka, group: Group, who: str) -> None:
    """Leader or not, though this broker cannot tell a leader that its plan is not wanted; topics are watched as before."""
    members, later = {}, f"{group.topic}-later"
    for name in ("one", "two"):
        members[name] = group.member(name, **quickly())
        members[name].subscribe([group.topic, later])
        wait_shared(group, list(members.values()))
    (other,) = (member for name, member in members.items() if name != who)
    owned, calls, began = members[who].assignment(), len(other.calls), rebalances(old_kafka.cluster, group)
    members[who].close()
    members[who] = group.member(who, **quickly())
    members[who].subscribe([group.topic, later])
    wait_shared(group, list(members.values()))
    assert (members[who].assignment(), len(other.calls)) == (owned, calls)
    assert rebalances(old_kafka.cluster, group) == began
    # KRaft of 2.8 lets no topic grow, so one comes.
    group.admin.create_topic(later, 1)
    eventually(lambda: any(TopicPartition(later, 0) in m.assignment() for m in members.values()), "the later topic")


@pytest.mark.parametrize("instance_id", [None, "one"], ids=["dynamic", "static"])
def test_a_member_leaves_for_good(old_kafka: OldKafka, group: Group, instance_id: str | None) -> None:
    """At once, with its reason where the broker takes one and without it where it does not."""
    member, other = group.join(instance_id, **quickly()), group.join(**quickly())
    wait_shared(group, [member, other])
    assert member.close(LeaveMode.LEAVE, reason="scaled down").clean
    wait_shared(group, [other])
    assert ("scaled down" in log_about(old_kafka.cluster, group.id)()) == old_kafka.has_reasons


def test_a_consumer_reads_and_commits(group: Group) -> None:
    """Twenty records; the next consumer of the group begins where this one ended."""
    produce(group.bootstrap_servers, group.topic, partitions=6, records=20)
    assert len(read_as_member(group, 20)) == 20
    produce(group.bootstrap_servers, group.topic, partitions=6, records=5, value=b"later")
    assert read_as_member(group, 5) == [b"later"] * 5


def read_as_member(group: Group, count: int) -> list[bytes]:
    """As a consumer of the group that commits what it has read and leaves."""
    config = {
        "bootstrap.servers": group.bootstrap_servers,
        "group.id": group.id,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(config)
    try:
        consumer.subscribe([group.topic])
        values = read(consumer, count)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return values


def test_a_member_commits(group: Group) -> None:
    """In its generation; a partition without a commit has no offset."""
    member = group.join(**quickly())
    wait_shared(group, [member])
    first, second = TopicPartition(group.topic, 0), TopicPartition(group.topic, 1)
    member.commit({first: 5})
    committed = member.committed([first, second])
    assert {where: offset and offset.offset for where, offset in committed.items()} == {first: 5, second: None}


def test_the_group_is_described(group: Group) -> None:
    """By an administrator, who need not know of which kind it is."""
    member = group.join("one", **quickly())
    wait_shared(group, [member])
    with GroupAdmin(group.bootstrap_servers) as admin:
        view = admin.describe(group.id)
        assert (view.protocol, view.state, view.assignor, view.epoch) == ("classic", "Stable", "range", None)
        (only,) = view.members
        assert (only.name, only.member_id, only.current) == ("one", member.snapshot.member_id, group.partitions(6))
