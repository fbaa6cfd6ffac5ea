"""Twelve traps on the way to KIP-848 on real brokers: `check` names each before it happens, and then it happens."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from membership_client import (
    BrokerTooOldError,
    ConfigError,
    GroupMember,
    InvalidRegexError,
    MembershipError,
    MemberState,
    NoCommonStrategyError,
)
from membership_client.admin import FindingKind, GroupAdmin, GroupCheck, Severity
from membership_client.testing import KafkaCluster, Listener
from tests.integration.members import PATIENCE_S, Group, eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

Factory = Callable[..., KafkaCluster]


class Trapped:
    """A classic group of two members on a cluster, and the administrator that checks it."""

    def __init__(self, servers: str, **config: Any) -> None:
        self.group = Group(servers, "trap")
        self.group.admin.create_topic(self.group.topic, 2)
        self._admin = GroupAdmin(servers)
        self._config = config

    def begin(self) -> None:
        for number in range(2):
            more = self._config | _named(self._config, number)
            self.group.join(group_protocol="classic", heartbeat_interval_ms=200, **more)
        self.await_members(2)

    def await_members(self, count: int) -> None:
        for member in self.group.members:
            member.wait_stable()
        eventually(lambda: self._is_stable(count), f"a stable classic group of {count} members")

    def _is_stable(self, count: int) -> bool:
        view = self._admin.describe(self.group.id, lag=False)
        return view.state == "Stable" and len(view.members) == count and len(view.owners) == 2

    def check(self, *arguments: Any, **options: Any) -> GroupCheck:
        return self._admin.check(self.group.id, *arguments, **options)

    def kinds(self, *arguments: Any, **options: Any) -> list[FindingKind]:
        return [finding.kind for finding in self.check(*arguments, **options).findings]

    def refusal(self, **config: Any) -> MembershipError:
        """The error with which a member that joins by KIP-848 ends."""
        member = self.group.join(group_protocol="consumer", **config)
        return refusal_of(member)

    def close(self) -> None:
        self.group.close()
        self._admin.close()


def refusal_of(member: GroupMember) -> MembershipError:
    """The error with which the member ends."""
    eventually(lambda: member.snapshot.state is MemberState.FATAL, "a refusal")
    assert member.snapshot.error is not None
    return member.snapshot.error


def _named(config: Mapping[str, Any], number: int) -> dict[str, Any]:
    name = config.get("group_instance_id")
    return {} if name is None else {"group_instance_id": f"{name}-{number}"}


@pytest.fixture
def trap() -> Iterator[Callable[..., Trapped]]:
    made: list[Trapped] = []

    def new(servers: str, **config: Any) -> Trapped:
        made.append(Trapped(servers, **config))
        made[-1].begin()
        return made[-1]

    yield new
    for trapped in made:
        trapped.close()


Trap = Callable[..., Trapped]


def test_1_brokers_without_kip_848(old_kafka_version: str, trap: Trap) -> None:
    """This is the only finding; settings that these brokers do not have are no finding."""
    with KafkaCluster(version=old_kafka_version) as cluster:
        trapped = trap(cluster.bootstrap_servers)
        assert trapped.kinds() == [FindingKind.BROKERS_TOO_OLD]
        assert trapped.kinds("static") == []
        assert isinstance(trapped.refusal(), BrokerTooOldError)
        trapped.close()


def test_2_the_feature_is_off(kafka_factory: Factory, trap: Trap) -> None:
    """The brokers know the request, and refuse it."""
    cluster = kafka_factory()
    servers = cluster.bootstrap_servers
    tool = ("org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", servers)
    subprocess.run(cluster._jvm.command(*tool, "downgrade", "--feature", "group.version=0"), check=True)
    trapped = trap(servers)
    assert trapped.kinds() == [FindingKind.FEATURE_OFF]
    assert isinstance(trapped.refusal(), BrokerTooOldError)


def test_3_the_protocol_is_off(kafka_factory: Factory, trap: Trap) -> None:
    """A setting of the brokers forbids KIP-848."""
    trapped = trap(kafka_factory(settings={"group.coordinator.rebalance.protocols": "classic"}).bootstrap_servers)
    assert trapped.kinds() == [FindingKind.PROTOCOL_OFF]
    assert isinstance(trapped.refusal(), BrokerTooOldError)


def test_4_the_upgrade_is_off(kafka_factory: Factory, trap: Trap) -> None:
    """Without members the group can move, as the advice says."""
    trapped = trap(kafka_factory(settings={"group.consumer.migration.policy": "disabled"}).bootstrap_servers)
    assert trapped.kinds() == [FindingKind.UPGRADE_OFF]
    assert "online upgrade is disabled" in str(trapped.refusal())
    trapped.group.close()
    eventually(lambda: trapped.check().view.state == "Empty", "an empty group")
    assert trapped.check().is_ready
    trapped.group.join(group_protocol="consumer").wait(lambda now: len(now.owned) == 2)


def test_5_the_group_is_too_large_and_cannot_go_back(kafka_factory: Factory, trap: Trap) -> None:
    """One cluster gives two findings: the limit applies only to KIP-848 groups."""
    settings = {"group.consumer.max.size": 1, "group.consumer.migration.policy": "upgrade"}
    trapped = trap(kafka_factory(settings=settings).bootstrap_servers)
    assert trapped.kinds() == [FindingKind.GROUP_TOO_LARGE, FindingKind.DOWNGRADE_OFF]
    assert "exceeds the consumer group maximum size" in str(trapped.refusal())


def test_6_the_assignor_has_data_of_its_own(kafka: KafkaCluster) -> None:
    """The strategy cooperative-sticky of librdkafka writes data into each assignment from its second one on."""
    group = Group(kafka.bootstrap_servers, "trap")
    group.admin.create_topic(group.topic, 2)
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group.id, "log_level": 0}
    config |= {"heartbeat.interval.ms": 300}
    config |= {"partition.assignment.strategy": "cooperative-sticky"}
    first, second = (confluent_kafka.Consumer(config) for _ in range(2))
    first.subscribe([group.topic])
    eventually(lambda: first.poll(0.05) or first.assignment(), "a first plan")
    second.subscribe([group.topic])
    with GroupAdmin(kafka.bootstrap_servers) as admin:

        def is_trapped() -> bool:
            for one in (first, second):
                one.poll(0.05)
            view = admin.describe(group.id, lag=False)
            return view.state == "Stable" and [member.has_assignor_data for member in view.members] == [True, True]

        eventually(is_trapped, "an assignment with data of the assignor")
        outcome = admin.check(group.id)
    assert [finding.kind for finding in outcome.findings] == [FindingKind.ASSIGNOR_DATA]
    member = group.join(group_protocol="consumer")
    assert "unsupported custom assignor" in str(refusal_of(member))
    for one in (first, second):
        one.close()
    group.close()


def test_7_a_client_that_has_no_kip_848(kafka: KafkaCluster, trap: Trap) -> None:
    """It is recognised by its default client id; the other member is not named."""
    trapped = trap(kafka.bootstrap_servers)
    trapped.group.join(group_protocol="classic", client_id="kafka-python-2.2.15")
    trapped.await_members(3)
    (finding,) = trapped.check().findings
    assert (finding.kind, len(finding.members)) == (FindingKind.CLIENT_IS_CLASSIC, 1)
    assert finding.members[0].startswith("kafka-python-2.2.15@")


def test_8_keys_of_the_classic_protocol(kafka: KafkaCluster, trap: Trap) -> None:
    """Some keys are refused when the member is made, and a session longer than the group's ends earlier."""
    config = {"group.protocol": "consumer", "session.timeout.ms": "300000"}
    assert trap(kafka.bootstrap_servers).kinds(config=config) == [FindingKind.KEY_REFUSED, FindingKind.SESSION_SHORTER]
    with pytest.raises(ConfigError, match=r"session\.timeout\.ms"):
        GroupMember({**config, "bootstrap.servers": kafka.bootstrap_servers, "group.id": "shop"})


def test_9_an_assignor_that_the_brokers_do_not_have(kafka: KafkaCluster, trap: Trap) -> None:
    """Brokers do not have custom assignors of the classic protocol."""
    trapped = trap(kafka.bootstrap_servers)
    assert trapped.kinds(config={"group.remote.assignor": "roundrobin"}) == [FindingKind.UNKNOWN_ASSIGNOR]
    assert "UNSUPPORTED_ASSIGNOR" in str(trapped.refusal(group_remote_assignor="roundrobin"))


def test_10_patterns(kafka: KafkaCluster, trap: Trap) -> None:
    """One pattern is refused by brokers, and one matches fewer topics than in librdkafka."""
    trapped = trap(kafka.bootstrap_servers)
    topic = trapped.group.topic
    beginning, ahead = f"^{topic[:-2]}", f"^{topic}(?!x)"
    found = trapped.check(patterns=[beginning, ahead]).findings
    assert [finding.kind for finding in found] == [FindingKind.PATTERN_REFUSED, FindingKind.PATTERN_DIFFERS]
    member = trapped.group.member(group_protocol="consumer")
    member.subscribe_pattern(ahead)
    assert isinstance(refusal_of(member), InvalidRegexError)
    narrow = trapped.group.member(group_protocol="consumer")
    narrow.subscribe_pattern(beginning)
    narrow.wait_stable()
    assert narrow.snapshot.owned == frozenset()


def test_11_a_static_member_that_crashes(kafka: KafkaCluster, trap: Trap) -> None:
    """In the classic protocol its replacement gets the id at once; under KIP-848 only if it takes the id over."""
    trapped = trap(kafka.bootstrap_servers, group_instance_id="till")
    config = {"group.instance.id": "till-0"}
    for policy, severity in (("fail", Severity.WARNING), ("wait", Severity.NOTE)):
        (finding,) = trapped.check(config={**config, "group.instance.id.conflict": policy}).findings
        assert (finding.kind, finding.severity) == (FindingKind.STATIC_AFTER_CRASH, severity)
        assert finding.members == ("till-0", "till-1")
    assert trapped.kinds(config={**config, "group.instance.id.conflict": "takeover"}) == []
    holder = trapped.group.join("till-0", group_protocol="consumer")
    holder.wait_stable()
    assert "till-0" in str(trapped.refusal(group_instance_id="till-0", group_instance_id_conflict="fail"))


ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'user_bob="bobs";',
}


def test_12_a_user_without_rights(trap: Trap) -> None:
    """The check finds it with that user's configuration, although the administrator may do everything; it finds a wrong password, too."""
    with KafkaCluster(settings=ACLS, listeners={"SASL": Listener("SASL_PLAINTEXT")}) as cluster:
        trapped = trap(cluster.bootstrap_servers)
        bob = {
            "bootstrap.servers": cluster.address_of("SASL"),
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "bob",
            "sasl.password": "bobs",
        }
        assert trapped.kinds(config=bob) == []
        _deny(cluster.bootstrap_servers, trapped.group)
        expected = [FindingKind.GROUP_DENIED, FindingKind.TOPIC_DENIED]
        eventually(lambda: trapped.kinds(config=bob) == expected, "rights that are denied")
        assert trapped.kinds() == []
        outcome = trapped.check(config={**bob, "sasl.password": "wrong-Qv37"})
        assert [finding.kind for finding in outcome.findings] == [FindingKind.CANNOT_CONNECT]
        assert "wrong-Qv37" not in repr(outcome)
        trapped.close()


def _deny(servers: str, group: Group) -> None:
    def denied(kind: ResourceType, name: str) -> AclBinding:
        return AclBinding(
            kind, name, ResourcePatternType.LITERAL, "User:bob", "*", AclOperation.ALL, AclPermissionType.DENY
        )

    def allowed(kind: ResourceType, name: str) -> AclBinding:
        return AclBinding(
            kind, name, ResourcePatternType.LITERAL, "User:*", "*", AclOperation.ALL, AclPermissionType.ALLOW
        )

    bindings = [
        make(kind, name)
        for make in (denied, allowed)
        for kind, name in ((ResourceType.GROUP, group.id), (ResourceType.TOPIC, group.topic))
    ]
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for future in client.create_acls(bindings).values():
        future.result(PATIENCE_S)


def test_the_move_from_confluent_kafka(kafka: KafkaCluster, trap: Trap) -> None:
    """Without group.protocol=classic the first process moves the group; with it, it needs a strategy of the group."""
    trapped = trap(kafka.bootstrap_servers, partition_assignment_strategy=("roundrobin",))
    assert trapped.kinds("membership-client", config={}) == [FindingKind.MOVES_GROUP]
    classic = {"group.protocol": "classic", "partition.assignment.strategy": "range"}
    assert trapped.kinds("membership-client", config=classic) == [FindingKind.NO_COMMON_STRATEGY]
    member = trapped.group.join(group_protocol="classic", partition_assignment_strategy=("range",))
    assert isinstance(refusal_of(member), NoCommonStrategyError)
    trapped.group.join().wait_stable()
    assert trapped.check().view.protocol == "consumer"


def test_brokers_that_differ_are_named(kafka_factory: Factory) -> None:
    """The setting of one broker of two is enough, because the coordinator may move to that broker."""
    cluster = kafka_factory(brokers=2)
    group = Group(cluster.bootstrap_servers, "trap")
    group.admin.create_topic(group.topic, 2)
    group.join(group_protocol="classic").wait_stable()
    properties = cluster._brokers[2].node.properties
    properties.write_text(properties.read_text() + "\ngroup.consumer.migration.policy=disabled\n")
    cluster.restart(2)
    with GroupAdmin(cluster.bootstrap_servers) as admin:
        (finding,) = eventually(lambda: admin.check(group.id).findings, "a finding")
    assert finding.kind is FindingKind.UPGRADE_OFF
    assert finding.sentence.startswith("Broker 2 does not move")
    group.close()
