"""Groups as their coordinators describe them, of both protocols."""

from __future__ import annotations

import datetime as dt
import uuid

import confluent_kafka
import pytest
from kio.schema.errors import ErrorCode
from kio.schema.join_group.v3 import JoinGroupRequest, JoinGroupResponse
from kio.schema.join_group.v3.request import JoinGroupRequestProtocol
from kio.schema.types import GroupId
from kio.static.primitive import i32Timedelta

from membership_client import ConnectionProblem, GroupMember, GroupNotFoundError, TopicPartition
from membership_client.admin import GroupAdmin, GroupView, InvalidGroupError, Wait
from membership_client.testing import ClusterAdmin, KafkaCluster
from membership_client.testing.wire import ask, parse_addresses
from tests.integration.members import PATIENCE_S, RecordingListener, eventually
from tests.integration.test_callbacks import Gate
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
    """The description has instance ids, hosts, epochs, current and target assignments, and lags."""
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
    """If a revoke callback does not return, the wait names its member, the partitions, and the members that wait."""
    gate = Gate()
    with joined(kafka, group, "slow", RecordingListener(revoked=gate)) as slow:
        slow.wait_until(lambda now: len(now.owned) == 4, PATIENCE_S)
        with joined(kafka, group, "waiting") as waiting:
            wait = eventually(lambda: _wait_for(admin, group, "slow"), "somebody who is waited for")
            gate.open()
            assert wait is not None
            assert (wait.waiting, len(wait.partitions)) == (("waiting",), 2)
            waiting.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)


def _wait_for(admin: GroupAdmin, group: str, name: str) -> Wait | None:
    waits = admin.describe(group, lag=False).waits()
    return next((wait for wait in waits if wait.holder.name == name and wait.waiting), None)


def test_a_group_that_is_being_migrated_has_members_of_both_protocols(
    kafka: KafkaCluster, admin: GroupAdmin, group: str
) -> None:
    """Each member has its subscription: a pattern, or names."""
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}
    new = GroupMember({**config, "group.instance.id": "new", "group.protocol": "consumer"})
    old = GroupMember({**config, "group.instance.id": "old", "group.protocol": "classic", "heartbeat.interval.ms": 200})
    with new, old:
        new.subscribe_pattern(f"{group}.*")
        new.wait_until(lambda now: len(now.owned) == 4, PATIENCE_S)
        old.subscribe([group])
        old.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        view = eventually(lambda: _settled(admin, group, 2), "a settled group")
    assert view is not None
    found = {member.name: (member.is_classic, member.topics, member.regex) for member in view.members}
    assert (view.protocol, found) == (
        "consumer",
        {"new": (False, frozenset(), f"{group}.*"), "old": (True, {group}, "")},
    )


def test_a_classic_group_is_described_too(kafka: KafkaCluster, admin: GroupAdmin, group: str) -> None:
    """It has no epochs, because its coordinator does not report them."""
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
    """The error has the name of the group."""
    with pytest.raises(GroupNotFoundError, match="no-such-group"):
        admin.describe("no-such-group")


def test_a_group_of_others_cannot_be_administered(kafka: KafkaCluster, admin: GroupAdmin) -> None:
    """Workers of Kafka Connect are no consumers."""
    connect = GroupId(f"connect-{uuid.uuid4().hex[:8]}")
    minute, offer = i32Timedelta.parse(dt.timedelta(minutes=1)), JoinGroupRequestProtocol(name="default", metadata=b"")
    request = JoinGroupRequest(
        group_id=connect,
        session_timeout=minute,
        rebalance_timeout=minute,
        member_id="",
        protocol_type="connect",
        protocols=(offer,),
    )
    joined = ask(parse_addresses(kafka.bootstrap_servers)[0], request, JoinGroupResponse)
    assert joined.error_code is ErrorCode.none
    for attempt in (admin.describe, admin.waiting_for, admin.remove_all):
        with pytest.raises(InvalidGroupError):
            attempt(connect)
    assert admin.list(prefix=connect) == ()
    ClusterAdmin(kafka.bootstrap_servers).remove_member(connect, joined.member_id)


def test_a_cluster_that_does_not_answer_is_an_error_in_time() -> None:
    """The error comes after the timeout."""
    with (
        GroupAdmin("127.0.0.1:1", timeout_s=0.5) as admin,
        pytest.raises(ConnectionProblem, match=r"Given up after 0\.5 s"),
    ):
        admin.describe("any")
