"""`groups check` before a group changes: its rules by values, and no false alarm about healthy groups of a real broker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from membership_client import ConfigError, TopicPartition
from membership_client.admin import FindingKind, GroupAdmin, GroupView, MemberView, Severity
from membership_client.admin.checks.checking import check
from membership_client.admin.checks.client_config import read_client_config
from membership_client.admin.checks.facts import BrokerFacts, ClientFacts, GroupFacts, Rights
from membership_client.admin.checks.finding import ChangeTo
from membership_client.admin.checks.patterns import of_pattern
from membership_client.admin.settings import Setting
from membership_client.net.admin_requests import Operation
from membership_client.testing import KafkaCluster
from membership_client.types import Node
from tests.admin.command_line import Run, printed
from tests.peers.classic import settings_with
from tests.peers.group import PeerGroup
from tests.peers.peer import PeerKind

ALL_RIGHTS = frozenset(Operation)
BROKER = BrokerFacts(
    Node("localhost", 9092, 1),
    {68: (0, 1), 11: (0, 9)},
    {
        "group.coordinator.rebalance.protocols": "classic,consumer,streams",
        "group.consumer.migration.policy": "bidirectional",
        "group.consumer.max.size": "100",
        "group.consumer.assignors": "uniform,range",
        "group.max.size": "100",
    },
)
MEMBER = MemberView(
    member_id="m1",
    instance_id=None,
    client_id="shop",
    host="/10.0.0.1",
    epoch=None,
    current=frozenset({TopicPartition("orders", 0)}),
    target=frozenset({TopicPartition("orders", 0)}),
    topics=frozenset({"orders"}),
    is_classic=True,
)
VIEW = GroupView(
    group_id="shop",
    protocol="classic",
    state="Stable",
    epoch=None,
    assignment_epoch=None,
    assignor="range",
    members=(MEMBER,),
)
HEALTHY = GroupFacts(
    view=VIEW,
    brokers=(BROKER, replace(BROKER, node=Node("localhost", 9093, 2))),
    features={"group.version": 1},
    topics={"orders": 4, "bills": 4, "orders-eu": 2},
    settings={
        "consumer.session.timeout.ms": Setting(
            name="consumer.session.timeout.ms", value=45_000, lowest=45_000, highest=60_000
        ),
        "session.timeout.ms": Setting(name="session.timeout.ms", value=None, lowest=6_000, highest=1_800_000),
    },
)


def with_members(*members: MemberView, **view: Any) -> GroupFacts:
    return replace(HEALTHY, view=replace(VIEW, members=members, **view))


def with_setting(key: str, value: str, facts: GroupFacts = HEALTHY) -> GroupFacts:
    """The facts with this setting on the second broker only."""
    one, other = facts.brokers
    return replace(facts, brokers=(one, replace(other, settings={**(other.settings or {}), key: value})))


def client(rights: Rights | None = None, **keys: Any) -> ClientFacts:
    """A configuration with these keys, whose user may do everything unless `rights` say otherwise."""
    dotted = {name.replace("_", "."): value for name, value in keys.items()}
    read = read_client_config(dotted, "shop")
    allowed = Rights(ALL_RIGHTS, {"orders": ALL_RIGHTS}) if rights is None else rights
    return ClientFacts(
        member=read.member, given=read.given, protocol=read.protocol, problems=read.problems, rights=allowed
    )


def with_client(rights: Rights | None = None, **keys: Any) -> GroupFacts:
    return replace(HEALTHY, client=client(rights, **keys))


def found(facts: GroupFacts, change: ChangeTo = "consumer") -> list[tuple[FindingKind, Severity]]:
    return [(finding.kind, finding.severity) for finding in check(facts, change).findings]


@pytest.mark.parametrize("change", ["consumer", "static"])
def test_a_healthy_group_has_no_findings(change: ChangeTo) -> None:
    """There are no findings without a configuration, and none with one that fits."""
    assert found(HEALTHY, change) == []
    keys: dict[str, Any] = {"bootstrap_servers": "localhost:1", "fetch_min_bytes": 10, "group_instance_id": "till-1"}
    fitting = with_client(**keys, group_instance_id_conflict="takeover", enable_auto_commit="false")
    assert found(fitting, change) == []
    assert check(fitting, change).is_ready


SETTLING = with_members(replace(MEMBER, topics=frozenset(), current=frozenset()), state="PreparingRebalance")
TWO_TOPICS = with_members(replace(MEMBER, topics=frozenset({"orders", "bills", "orders-eu"})))
STATIC = replace(MEMBER, instance_id="till-1")
NO_ACCESS = replace(HEALTHY, brokers=(BROKER, replace(BROKER, settings=None)))
OLD = replace(HEALTHY, brokers=(BROKER, replace(BROKER, apis={68: (0, 0), 11: (0, 4)})))
DENIED = Rights(frozenset({Operation.DESCRIBE}), {"orders": frozenset()})
UNREADABLE = Rights(ALL_RIGHTS, {"orders": frozenset({Operation.DESCRIBE})})
FULL = replace(
    HEALTHY, brokers=(replace(BROKER, settings={**(BROKER.settings or {}), "group.consumer.max.size": "1"}),)
)

K, B, W, N = FindingKind, Severity.BLOCKER, Severity.WARNING, Severity.NOTE


@pytest.mark.parametrize(
    ("facts", "kind", "severity", "words"),
    [
        (OLD, K.BROKERS_TOO_OLD, B, "Broker 1 does not have KIP-848"),
        (replace(HEALTHY, features={"metadata.version": 30}), K.FEATURE_OFF, B, "group.version is at level 0"),
        (
            with_setting("group.coordinator.rebalance.protocols", "classic"),
            K.PROTOCOL_OFF,
            B,
            "Broker 2 does not allow KIP-848",
        ),
        (with_setting("group.consumer.migration.policy", "disabled"), K.UPGRADE_OFF, B, "Broker 2"),
        (with_setting("group.consumer.migration.policy", "downgrade"), K.UPGRADE_OFF, B, "Broker 2"),
        (with_setting("group.consumer.migration.policy", "Upgrade"), K.DOWNGRADE_OFF, W, "back to the classic"),
        (
            with_setting("group.consumer.max.size", "0"),
            K.GROUP_TOO_LARGE,
            B,
            "1 members, and a KIP-848 group may have 0",
        ),
        (FULL, K.NO_ROOM, W, "GROUP_MAX_SIZE_REACHED"),
        (NO_ACCESS, K.NOT_CHECKED, W, "Access to the settings"),
        (SETTLING, K.REBALANCING, W, "PreparingRebalance"),
        (with_members(replace(MEMBER, has_assignor_data=True)), K.ASSIGNOR_DATA, B, "range wrote data of its own"),
        (
            with_members(replace(MEMBER, client_id="aiokafka-0.12.0")),
            K.CLIENT_IS_CLASSIC,
            W,
            "1 member has the client id",
        ),
        (TWO_TOPICS, K.CO_PARTITIONING, N, "partition n of bills and orders"),
        (with_members(STATIC), K.STATIC_AFTER_CRASH, N, "for up to 45 s"),
        (with_client(group_instance_id="a", group_instance_id_conflict="fail"), K.STATIC_AFTER_CRASH, W, "UNRELEASED"),
        (with_client(session_timeout_ms=50_000, group_protocol="auto"), K.SESSION_SHORTER, W, "after 45000 ms"),
        (with_client(heartbeat_interval_ms=1000), K.KEY_WITHOUT_EFFECT, N, "heartbeat.interval.ms has no effect"),
        (with_client(group_protocol="classic"), K.KEEPS_CLASSIC, B, "stays classic"),
        (
            with_client(group_protocol="CONSUMER", partition_assignment_strategy="range"),
            K.KEY_REFUSED,
            B,
            "refused with group.protocol=consumer",
        ),
        (with_client(opaque=1), K.KEY_REFUSED, B, "opaque: a pointer of C"),
        (with_client(no_such_key=1), K.KEY_REFUSED, B, "no.such.key: confluent-kafka has no such key"),
        (with_client(max_poll_interval_ms="soon"), K.KEY_REFUSED, B, "max.poll.interval.ms must be"),
        (with_client(group_remote_assignor="sticky"), K.UNKNOWN_ASSIGNOR, B, "brokers (1, 2) have range, uniform"),
        (with_client(DENIED), K.GROUP_DENIED, B, "no READ on the group"),
        (with_client(DENIED), K.TOPIC_DENIED, B, "no DESCRIBE and no READ on topic orders"),
        (with_client(UNREADABLE), K.TOPIC_DENIED, W, "no READ on topic orders"),
        (with_client(Rights(frozenset(), {}, problem="Wrong password.")), K.CANNOT_CONNECT, B, "Wrong password."),
        (replace(HEALTHY, patterns=("^orders",)), K.PATTERN_DIFFERS, W, "the beginning of orders-eu"),
        (replace(HEALTHY, patterns=("^(?!bills)",)), K.PATTERN_REFUSED, B, "looks ahead or behind"),
    ],
)
def test_each_trap_on_the_way_to_kip_848_is_found(
    facts: GroupFacts, kind: FindingKind, severity: Severity, words: str
) -> None:
    """The finding has its severity, and the words that say where the trap is."""
    (finding,) = (one for one in check(facts, "consumer").findings if one.kind is kind)
    assert (finding.severity, words in finding.sentence) == (severity, True), finding
    assert check(facts, "consumer").is_ready is (severity is N)


@pytest.mark.parametrize(
    ("facts", "kind", "severity"),
    [
        (OLD, K.BROKERS_TOO_OLD, B),
        (with_client(), K.NO_INSTANCE_ID, B),
        (with_client(group_instance_id="till-7d9c5b6f4-x2x7k"), K.UNSTABLE_INSTANCE_ID, W),
        (with_members(replace(MEMBER, instance_id="till-7d9c5b6f4-x2x7k")), K.UNSTABLE_INSTANCE_ID, W),
        (with_client(group_instance_id="a", session_timeout_ms=5000), K.SESSION_REFUSED, B),
        (with_setting("group.max.size", "1"), K.NO_ROOM, W),
    ],
)
def test_each_trap_on_the_way_to_static_membership_is_found(
    facts: GroupFacts, kind: FindingKind, severity: Severity
) -> None:
    """The trap is found once, and nothing else is found."""
    assert found(facts, "static") == [(kind, severity)]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (HEALTHY, [(K.MOVES_GROUP, N)]),
        (with_client(), [(K.MOVES_GROUP, W)]),
        (with_client(group_protocol="classic"), []),
        (
            with_client(group_protocol="classic", partition_assignment_strategy="roundrobin"),
            [(K.NO_COMMON_STRATEGY, B)],
        ),
        (replace(HEALTHY, features={"metadata.version": 30}), []),
        (
            replace(with_members(MEMBER, assignor="roundrobin"), features={"metadata.version": 30}),
            [(K.NO_COMMON_STRATEGY, B)],
        ),
        (replace(with_client(group_protocol="consumer"), features={"metadata.version": 30}), [(K.FEATURE_OFF, B)]),
        (with_members(), []),
        (with_client(opaque=1, group_protocol="classic"), [(K.KEY_REFUSED, B)]),
    ],
)
def test_the_move_from_confluent_kafka_is_checked(
    facts: GroupFacts, expected: list[tuple[FindingKind, Severity]]
) -> None:
    """The first process may move the group to KIP-848, or may have no strategy in common with the other members."""
    assert found(facts, "membership-client") == expected


def test_a_group_without_members_can_move_whatever_the_brokers_forbid_about_upgrades() -> None:
    """An empty group needs no upgrade, and a KIP-848 group needs no move."""
    assert found(with_setting("group.consumer.migration.policy", "disabled", with_members(state="Empty"))) == []
    moved = with_members(replace(MEMBER, is_classic=False, epoch=3), protocol="consumer", epoch=3, assignment_epoch=3)
    assert found(with_setting("group.consumer.migration.policy", "disabled", moved)) == []


def test_what_was_not_looked_at_is_said() -> None:
    """The output names what was not checked, so that an empty list of findings is not misread."""
    assert "give their configuration" in check(HEALTHY, "consumer").unchecked[0]
    refused = replace(HEALTHY, client=replace(client(), rights=None))
    assert "the keys about security are refused" in check(refused, "consumer").unchecked[0]


@pytest.mark.parametrize(
    "pattern", ["^orders.*", "^orders", "orders", r"^\p{L}+", "^[[:alpha:]]+", r"^a[(?=]b", r"^a\(?=b"]
)
def test_patterns_that_mean_the_same_to_brokers_are_passed(pattern: str) -> None:
    """These include patterns that only RE2/J can read, and character classes that look like a group."""
    assert [*of_pattern(pattern, ["orders", "bills"])] == []


@pytest.mark.parametrize("pattern", ["^(?<=a)b", "^(?>a)b", "^a*+", r"^(a)\1", "^(?P=a)", "^(", r"^\\(?!b)"])
def test_patterns_that_brokers_refuse_are_named(pattern: str) -> None:
    """RE2/J has no look-arounds, atomic groups, possessive repetitions or back references."""
    (finding,) = of_pattern(pattern, ["orders"])
    assert finding.kind is K.PATTERN_REFUSED


def test_a_password_is_not_in_any_finding() -> None:
    """A finding about a refused security key names the key and not its value."""
    read = read_client_config({"sasl.password": "secret-Qv37", "security.protocol": "plaintext"}, "shop")
    assert read.security is None
    assert read.problems
    assert "secret-Qv37" not in repr(read)


# --- on a real broker ------------------------------------------------------------------------------------------------


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("kind", "strategy"),
    [("ours", "range"), ("ours", "cooperative-sticky"), ("java", "cooperative-sticky"), ("confluent", "range")],
)
def test_a_healthy_group_of_any_client_is_ready_and_moves(
    kafka: KafkaCluster, peers: PeerGroup, admin: GroupAdmin, kind: PeerKind, strategy: str
) -> None:
    """There is no false alarm: a KIP-848 member joins the group, which becomes a KIP-848 group."""
    members = [peers.join(kind, **settings_with(kind, strategy)) for _ in range(2)]
    peers.wait_settled(members)
    outcome = admin.check(peers.id, config={"bootstrap.servers": kafka.bootstrap_servers, "group.protocol": "consumer"})
    assert (outcome.findings, outcome.is_ready, outcome.view.protocol) == ((), True, "classic")
    peers.wait_settled([*members, peers.join("ours", **settings_with("ours", None))])
    mixed = admin.check(peers.id)
    assert (mixed.findings, mixed.view.protocol) == ((), "consumer")


@pytest.mark.kafka
def test_a_check_as_a_command(
    kafka: KafkaCluster, run: Run, group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 0 without findings, 1 with findings, 2 if the check cannot be done; `--group` works as in Kafka's tools."""
    assert run("check", group) == 0
    assert f"{group}: Empty, classic protocol, no assignor, 0 members. To KIP-848: nothing is in the way." in (
        capsys.readouterr().out
    )
    file = tmp_path / "consumer.properties"
    file.write_text("group.protocol=consumer\nsession.timeout.ms=300000\n")
    assert run("check", "--group", group, "--config", str(file)) == 1
    shown = capsys.readouterr().out
    assert "To KIP-848: 1 blocker, 1 warning." in shown
    assert "1. BLOCKER: key refused\n   session.timeout.ms is refused with group.protocol=consumer" in shown
    assert run("check", group, "--config", str(file), "--json") == 1
    told = printed(capsys)
    assert (told["to"], told["ready"]) == ("consumer", False)
    assert [(one["kind"], one["severity"]) for one in told["findings"]] == [
        ("KEY_REFUSED", "blocker"),
        ("SESSION_SHORTER", "warning"),
    ]
    assert run("check", "no-such-group") == 2
    assert run("check", group, "--config", str(tmp_path / "none")) == 2
    assert "none cannot be read" in capsys.readouterr().err


@pytest.mark.kafka
def test_bad_arguments_are_refused_at_once(admin: GroupAdmin, group: str) -> None:
    """They are refused before a request is sent."""
    with pytest.raises(ConfigError, match="to must be"):
        admin.check(group, "classic")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="patterns must be a list"):
        admin.check(group, patterns="^a")
