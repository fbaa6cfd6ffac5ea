"""Access that is denied, and granted later."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from membership_client import (
    ClusterAuthorizationError,
    Consumer,
    GroupAuthorizationError,
    GroupMember,
    MemberState,
    Offset,
    OffsetAccessError,
    TopicAuthorizationError,
)
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import PATIENCE_S, assert_never_shared, eventually
from tests.net import answers
from tests.net.scripted_broker import Peer, ScriptedBroker
from tests.records import filled_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.conftest import GroupFactory

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SESSION_MS = 3000
UNHURRIED_MS = 15_000
"""Between two heartbeats, as much as brokers allow."""
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


both_protocols = pytest.mark.parametrize("protocol", ["consumer", "classic"])


@pytest.fixture(scope="module")
def guarded_kafka() -> Iterator[KafkaCluster]:
    """Everything is allowed until a test denies it."""
    with KafkaCluster(settings=AUTHORIZER) as cluster:
        yield cluster


class Rules:
    """Denies all users one resource, until told otherwise. Returns when the broker goes by it, which is a little later."""

    def __init__(self, kafka: KafkaCluster, kind: ResourceType, name: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        self._cluster = ClusterAdmin(kafka.bootstrap_servers)
        self._kind, self._name = kind, name
        self._deny = self._rule(AclOperation.ALL, AclPermissionType.DENY)

    def deny(self) -> None:
        self._add(self._deny)
        eventually(self._is_denied, f"{self._name} denied")

    def show_only(self) -> None:
        """It may be described; where there is a rule, nothing is allowed that none allows."""
        self._add(self._rule(AclOperation.DESCRIBE, AclPermissionType.ALLOW))

    def grant_reading(self) -> None:
        self._add(self._rule(AclOperation.READ, AclPermissionType.ALLOW))

    def _rule(self, operation: AclOperation, permission: AclPermissionType) -> tuple[Any, ...]:
        return (self._kind, self._name, ResourcePatternType.LITERAL, "User:*", "*", operation, permission)

    def _add(self, rule: tuple[Any, ...]) -> None:
        for future in self._admin.create_acls([AclBinding(*rule)]).values():
            future.result(30)

    def allow(self) -> None:
        for future in self._admin.delete_acls([AclBindingFilter(*self._deny)]).values():
            future.result(30)
        eventually(lambda: not self._is_denied(), f"{self._name} allowed")

    def _is_denied(self) -> bool:
        if self._kind is ResourceType.TOPIC:
            return self._admin.list_topics(self._name, timeout=30).topics[self._name].error is not None
        try:
            self._cluster.coordinator(self._name)
        except RuntimeError as refused:
            return "group_authorization_failed" in str(refused)
        return False


def test_a_denied_topic_heals_when_access_is_granted(guarded_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """The member keeps trying, names the topic, and joins without being asked to."""
    group = new_group(guarded_kafka)
    rules = Rules(guarded_kafka, ResourceType.TOPIC, group.topic)
    rules.deny()
    member = group.join()
    denied = member.wait(lambda snapshot: snapshot.error is not None)
    assert denied.state is MemberState.JOINING
    assert isinstance(denied.error, TopicAuthorizationError)
    assert f"DESCRIBE on topic {group.topic} is not granted" in str(denied.error)
    assert "Grant DESCRIBE" in str(denied.error)
    rules.allow()
    group.wait_for_shares([member], group.partitions(6))
    assert member.error is None


def test_a_topic_denied_to_a_member_that_adds_it(guarded_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """What it had it keeps, and the new topic arrives when access is granted."""
    group = new_group(guarded_kafka)
    other = f"{group.topic}-other"
    group.create_topic(other, 2)
    rules = Rules(guarded_kafka, ResourceType.TOPIC, other)
    rules.deny()
    member = group.join()
    member.wait_stable()
    member.subscribe([group.topic, other])
    denied = member.wait(lambda snapshot: snapshot.error is not None)
    assert isinstance(denied.error, TopicAuthorizationError)
    assert denied.owned == group.partitions(6)
    rules.allow()
    member.wait(lambda snapshot: snapshot.state is MemberState.STABLE and len(snapshot.owned) == 8)
    assert member.error is None
    assert not member.listener.of("lost")


def test_a_denied_topic_does_not_cost_the_membership(guarded_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """While one topic is denied, the others must not be owned by two members."""
    group = new_group(guarded_kafka, consumer_session_timeout_ms=SESSION_MS)
    other = f"{group.topic}-other"
    group.create_topic(other, 2)
    Rules(guarded_kafka, ResourceType.TOPIC, other).deny()
    pair = [group.join(), group.join()]
    group.wait_for_shares(pair, group.partitions(6))
    pair[0].subscribe([group.topic, other])
    pair[0].wait(lambda snapshot: snapshot.error is not None)
    time.sleep(1.5 * SESSION_MS / 1000)
    assert not pair[0].assignment() & pair[1].assignment()
    assert_never_shared(pair)


@both_protocols
def test_a_denied_group_is_fatal_until_subscribed_again(
    guarded_kafka: KafkaCluster, new_group: GroupFactory, protocol: str
) -> None:
    """The request is not repeated again and again; the application decides when to try again."""
    group = new_group(guarded_kafka)
    rules = Rules(guarded_kafka, ResourceType.GROUP, group.id)
    rules.deny()
    member = group.join(group_protocol=protocol)
    with pytest.raises(GroupAuthorizationError, match=f"DESCRIBE on group {group.id} is not granted.* Grant READ"):
        member.wait_stable()
    rules.allow()
    member.subscribe([group.topic])
    member.wait(lambda snapshot: snapshot.error is None and snapshot.owned == group.partitions(6))


def test_a_topic_denied_to_a_classic_leader(guarded_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """It had looked like a topic that does not exist, and no error was shown."""
    group = new_group(guarded_kafka)
    rules = Rules(guarded_kafka, ResourceType.TOPIC, group.topic)
    rules.deny()
    member = group.join(group_protocol="classic")
    denied = member.wait(lambda snapshot: snapshot.error is not None)
    assert isinstance(denied.error, TopicAuthorizationError)
    assert f"DESCRIBE on topic {group.topic} is not granted" in str(denied.error)
    rules.allow()
    member.wait(lambda snapshot: snapshot.error is None and len(snapshot.owned) == 6)


def test_a_commit_to_a_topic_that_is_denied(guarded_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """Typed, with the operation, the topic and the partitions; and it goes well once it is granted."""
    group = new_group(guarded_kafka)
    rules = Rules(guarded_kafka, ResourceType.TOPIC, group.topic)
    member = group.join()
    group.wait_for_shares([member], group.partitions(6))
    rules.deny()
    one = min(member.assignment())
    told = (
        f"^READ on topic {group.topic} is not granted \\(TOPIC_AUTHORIZATION_FAILED for {one}\\)\\. Grant the operation"
    )
    with pytest.raises(OffsetAccessError, match=told):
        member.commit({one: 1})
    rules.allow()
    member.commit({one: 1})


def test_committed_offsets_of_a_topic_that_is_denied(guarded_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """To look takes another operation than to commit: the bug was that both were told the same."""
    group = new_group(guarded_kafka)
    rules = Rules(guarded_kafka, ResourceType.TOPIC, group.topic)
    member = group.join()
    group.wait_for_shares([member], group.partitions(6))
    one = min(member.assignment())
    member.commit({one: 1})
    rules.deny()
    told = f"^DESCRIBE on topic {group.topic} is not granted \\(TOPIC_AUTHORIZATION_FAILED for {one}\\)\\. Grant the operation"
    with pytest.raises(OffsetAccessError, match=told):
        member.committed([one])
    rules.allow()
    assert member.committed([one]) == {one: Offset(1)}


def test_offsets_of_a_group_that_is_denied(guarded_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """As above, with the group; told to a member that has not yet heard of it by its own heartbeat."""
    group = new_group(guarded_kafka, consumer_heartbeat_interval_ms=UNHURRIED_MS)
    rules = Rules(guarded_kafka, ResourceType.GROUP, group.id)
    member = group.join()
    group.wait_for_shares([member], group.partitions(6))
    one = min(member.assignment())
    rules.deny()
    with pytest.raises(OffsetAccessError, match=f"^READ on group {group.id} is not granted"):
        member.commit({one: 1})
    with pytest.raises(OffsetAccessError, match=f"^DESCRIBE on group {group.id} is not granted"):
        member.committed([one])
    rules.allow()
    member.commit({one: 1})


@both_protocols
def test_access_that_is_taken_away(guarded_kafka: KafkaCluster, new_group: GroupFactory, protocol: str) -> None:
    """A member that may no longer be one loses its partitions and ends with the reason."""
    group = new_group(guarded_kafka)
    rules = Rules(guarded_kafka, ResourceType.GROUP, group.id)
    config: dict[str, Any] = {"heartbeat_interval_ms": 200} if protocol == "classic" else {}
    member = group.join(group_protocol=protocol, **config)
    member.wait_stable()
    rules.deny()
    with pytest.raises(GroupAuthorizationError, match=f"READ on group {group.id} is not granted"):
        member.wait(lambda snapshot: False)
    eventually(lambda: member.listener.of("lost"), "the lost callback")
    rules.allow()
    assert member.close().clean


@both_protocols
def test_a_topic_that_may_be_seen_and_not_read(guarded_kafka: KafkaCluster, protocol: str) -> None:
    """It is assigned, and reading it is an error that names it; the records come once it is granted."""
    topic = filled_topic(guarded_kafka.bootstrap_servers, "seen", partitions=1, records=1)
    rules = Rules(guarded_kafka, ResourceType.TOPIC, topic)
    rules.show_only()
    config = {"bootstrap.servers": guarded_kafka.bootstrap_servers, "group.id": topic, "group.protocol": protocol}
    with Consumer(config | {"auto.offset.reset": "earliest", "log_level": 0}) as consumer:
        consumer.subscribe([topic])
        (message,) = eventually(lambda: consumer.consume(1, 0.2), "an error")
        denied = message.error()
        assert denied is not None
        assert denied.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert message.topic() == topic
        rules.grant_reading()
        eventually(lambda: [message for message in consumer.consume(1, 0.2) if message.error() is None], "the record")


def test_the_cluster_is_denied() -> None:
    """No broker says so to members today; one that does is believed, and the request that it is about is named."""

    def script(peer: Peer) -> None:
        peer.welcome()
        asked = peer.request()
        assert asked.api_key == answers.FIND_COORDINATOR
        peer.answer(asked, answers.coordinator(asked.version, group="g", error=31))
        peer.wait_for_close()

    with (
        ScriptedBroker(script) as broker,
        GroupMember({"bootstrap.servers": str(broker.node), "group.id": "g"}) as member,
    ):
        member.subscribe(["orders"])
        with pytest.raises(
            ClusterAuthorizationError, match="DESCRIBE on the cluster is not granted, which FindCoordinator needs"
        ):
            member.wait_until(MemberState.STABLE, PATIENCE_S)
        assert member.snapshot.state is MemberState.FATAL
