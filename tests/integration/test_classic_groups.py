"""Classic groups on a real broker: static members, limits, commits, and which protocol is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from membership_client import (
    AssignorFailedError,
    ConfigError,
    Consumer,
    FencedInstanceIdError,
    GroupFullError,
    GroupProtocol,
    LeaveMode,
    MemberState,
    MemberSubscription,
    NoCommonStrategyError,
    NotOwnedError,
    SessionTimeoutRefusedError,
    TopicLayout,
    TopicPartition,
    register_assignor,
)
from membership_client.core.events import Send, SyncGroup
from membership_client.testing import KafkaCluster
from tests.integration.classic import CLASSIC, STRATEGIES, classic, read, rebalances, wait_shared
from tests.integration.members import (
    Call,
    Group,
    RecordingListener,
    assert_never_shared,
    eventually,
    log_about,
)
from tests.integration.processes import MemberProcess
from tests.records import filled_topic

pytestmark = pytest.mark.kafka

# --- joining ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_three_come_and_go(group: Group, strategy: str) -> None:
    """The members own all partitions, evenly, and each has one owner; the snapshot says which protocol it is."""
    members = [group.join(**classic(strategy))]
    wait_shared(group, members)
    assert members[0].snapshot.protocol is GroupProtocol.CLASSIC
    members += [group.join(**classic(strategy)), group.join(**classic(strategy))]
    wait_shared(group, members)
    assert [len(member.assignment()) for member in members] == [2, 2, 2]
    members.pop(0).close()
    wait_shared(group, members)
    assert_never_shared(group.members)


def test_a_cooperative_member_keeps_what_it_keeps(group: Group) -> None:
    """Only what moves is revoked, in one callback."""
    first = group.join(**classic("cooperative-sticky"))
    wait_shared(group, [first])
    second = group.join(**classic("cooperative-sticky"))
    wait_shared(group, [first, second])
    assert [(call.kind, len(call.partitions)) for call in first.calls] == [("assigned", 6), ("revoked", 3)]


def test_a_topic_that_grows_is_assigned(group: Group) -> None:
    """The leader looks for it."""
    members = [group.join(**classic(metadata_max_age_ms=500)) for _ in range(2)]
    wait_shared(group, members)
    group.admin.add_partitions(group.topic, 8)
    wait_shared(group, members, 8)


def test_a_pattern_finds_topics_that_come_later(group: Group) -> None:
    """It is matched here, since brokers of the classic protocol match none."""
    member = group.member(**classic(metadata_max_age_ms=500))
    member.subscribe_pattern(f"{group.topic}.*")
    member.wait(lambda snapshot: snapshot.owned == group.partitions(6))
    group.create_topic(f"{group.topic}-more", 1)
    member.wait(lambda snapshot: TopicPartition(f"{group.topic}-more", 0) in snapshot.owned)


def test_an_own_assignor(group: Group) -> None:
    """A function, known to all members of the group by its name."""

    def all_to_the_last(
        members: list[MemberSubscription], topics: dict[str, TopicLayout]
    ) -> dict[str, list[TopicPartition]]:
        last = max(members, key=lambda member: member.rank).member_id
        return {last: [TopicPartition(topic, n) for topic, layout in topics.items() for n in range(layout.partitions)]}

    register_assignor("last", all_to_the_last)  # type: ignore[arg-type]
    members = [group.join(**classic("last")) for _ in range(2)]
    wait_shared(group, members)
    eventually(lambda: sorted(len(member.assignment()) for member in members) == [0, 6], "all with one")


def test_a_leader_whose_assignor_fails_does_not_hold_up_the_others(group: Group) -> None:
    """It leaves: all others waited for its plan until its session ended, which is two minutes here."""

    def only_alone(
        members: list[MemberSubscription], topics: dict[str, TopicLayout]
    ) -> dict[str, list[TopicPartition]]:
        (alone,) = members
        numbers = ((topic, number) for topic, layout in topics.items() for number in range(layout.partitions))
        return {alone.member_id: [TopicPartition(topic, number) for topic, number in numbers]}

    register_assignor("only-alone", only_alone)  # type: ignore[arg-type]
    leader = group.join(**classic("only-alone", session_timeout_ms=120_000))
    wait_shared(group, [leader])
    follower = group.join(**classic("only-alone", session_timeout_ms=120_000))
    with pytest.raises(AssignorFailedError):
        leader.wait(lambda snapshot: False)
    wait_shared(group, [follower])


def test_an_unknown_assignor_is_refused_at_once(group: Group) -> None:
    """Before anything is joined, with those that there are."""
    with pytest.raises(ConfigError, match="cooperative-sticky"):
        group.member(**classic("rnage"))


# --- which protocol --------------------------------------------------------------------------------------------------


def test_auto_takes_what_the_broker_has(group: Group, old_group: Group) -> None:
    """KIP-848 here, the classic protocol there, and says which."""
    modern, old = group.join(), old_group.join()
    assert modern.wait_stable().protocol is GroupProtocol.CONSUMER
    assert old.wait_stable().protocol is GroupProtocol.CLASSIC
    assert old.assignment() == old_group.partitions(6)


@pytest.fixture(scope="module")
def classic_kafka() -> Any:
    """A broker that was told not to have KIP-848, and to let two members into a group."""
    settings = {"group.coordinator.rebalance.protocols": "classic", "group.max.size": "2"}
    with KafkaCluster(settings=settings) as cluster:
        yield cluster


@pytest.fixture
def old_group(classic_kafka: KafkaCluster, request: pytest.FixtureRequest) -> Any:
    group = Group(classic_kafka.bootstrap_servers, "classic-broker")
    group.admin.create_topic(group.topic, 6)
    yield group
    group.close()


def test_a_full_group(old_group: Group) -> None:
    """It is fatal and typed; with room again, subscribe() succeeds."""
    members = [old_group.join(**CLASSIC) for _ in range(2)]
    wait_shared(old_group, members)
    third = old_group.join(**CLASSIC)
    with pytest.raises(GroupFullError, match=r"group\.max\.size"):
        third.wait_stable()
    members[0].close()
    third.subscribe([old_group.topic])
    wait_shared(old_group, [members[1], third])


def test_a_session_timeout_that_the_broker_does_not_allow(group: Group) -> None:
    """With the keys that bound it."""
    member = group.join(**classic(session_timeout_ms=1_900_000))
    with pytest.raises(SessionTimeoutRefusedError, match=r"group\.max\.session\.timeout\.ms"):
        member.wait_stable()


def test_strategies_that_do_not_match(group: Group) -> None:
    """The error names those of both sides."""
    wait_shared(group, [group.join(**classic("range"))])
    other = group.join(**classic("roundrobin"))
    with pytest.raises(NoCommonStrategyError, match=r"offers roundrobin.*assigns by range"):
        other.wait_stable()


# --- static members --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_static_restart_disturbs_nobody(kafka: KafkaCluster, group: Group, strategy: str, who: str) -> None:
    """The same partitions in the same generation; the broker begins no rebalance, and the leader makes no plan."""
    first = group.join("one", **classic(strategy))
    wait_shared(group, [first])
    second = group.join("two", **classic(strategy))
    wait_shared(group, [first, second])
    old, other = (first, second) if who == "leader" else (second, first)
    owned, epoch, calls, began = old.assignment(), old.epoch, len(other.calls), rebalances(kafka, group)
    assert old.close().steps[-1].outcome.startswith("nothing told")
    successor = group.join("one" if who == "leader" else "two", **classic(strategy))
    wait_shared(group, [successor, other])
    assert (successor.assignment(), successor.epoch, len(other.calls)) == (owned, epoch, calls)
    assert rebalances(kafka, group) == began
    plans = [e.request.plan for e in successor.effects if isinstance(e, Send) and isinstance(e.request, SyncGroup)]
    assert plans == [{}]


def test_a_static_member_that_was_killed_is_replaced_at_once(
    kafka: KafkaCluster, group: Group, new_process: Callable[..., MemberProcess]
) -> None:
    """After kill -9 its successor gets the same partitions without a rebalance, and need not wait for the session to end."""
    other = group.join("two", **CLASSIC)
    wait_shared(group, [other])
    config = {
        "group.protocol": "classic",
        "group.instance.id": "one",
        "heartbeat.interval.ms": 200,
        "partition.assignment.strategy": ["range"],
    }
    process = new_process(group, config=config)
    owned = process.wait_owning()
    eventually(lambda: other.snapshot.owned == group.partitions(6) - owned, "the rest with the other")
    began, calls = rebalances(kafka, group), len(other.calls)
    process.kill()
    successor = group.join("one", **CLASSIC)
    wait_shared(group, [successor, other])
    assert (successor.assignment(), len(other.calls)) == (owned, calls)
    assert rebalances(kafka, group) == began


def test_the_newcomer_wins(group: Group) -> None:
    """The former holder of the instance id loses its partitions and ends, and its error names the new holder."""
    old = group.join("one", **CLASSIC)
    wait_shared(group, [old])
    newcomer = group.join("one", **CLASSIC)
    with pytest.raises(FencedInstanceIdError) as fenced:
        old.wait(lambda snapshot: False)
    wait_shared(group, [newcomer])
    assert fenced.value.holder is not None
    assert fenced.value.holder.member_id == newcomer.snapshot.member_id
    eventually(lambda: old.listener.of("lost"), "the lost callback")


def test_a_static_member_that_was_removed_comes_back(group: Group) -> None:
    """From outside, by its instance id alone."""
    member = group.join("one", **CLASSIC)
    wait_shared(group, [member])
    group.remove("", "one")
    eventually(lambda: member.listener.of("lost"), "the lost callback")
    wait_shared(group, [member])


def test_a_static_member_that_leaves_for_good(kafka: KafkaCluster, group: Group) -> None:
    """Its partitions move at once, and the broker's log says why."""
    members = [group.join(name, **CLASSIC) for name in ("one", "two")]
    wait_shared(group, members)
    members[0].close(LeaveMode.LEAVE, reason="scaled down")
    wait_shared(group, members[1:])
    eventually(lambda: "client reason: scaled down" in log_about(kafka, group.id)(), "the reason in the log")


# --- offsets ---------------------------------------------------------------------------------------------------------


def test_commits_carry_the_generation(group: Group) -> None:
    """They are taken from an owner, also in its revoked callback, and found by the next owner."""
    partition = TopicPartition(group.topic, 0)

    def commit(call: Call) -> None:
        if partition in call.partitions:
            first.commit({partition: 7})

    first = group.join(listener=RecordingListener(revoked=commit), **CLASSIC)
    wait_shared(group, [first])
    first.commit({partition: 5})
    assert first.committed([partition])[partition].offset == 5  # type: ignore[union-attr]
    second = group.join(**CLASSIC)
    wait_shared(group, [first, second])
    assert second.committed([partition])[partition].offset == 7  # type: ignore[union-attr]


def test_who_was_replaced_cannot_commit(group: Group) -> None:
    """The newcomer wins: until its next heartbeat the old holder of the instance id learns it here, typed."""
    seldom = classic(heartbeat_interval_ms=20_000, session_timeout_ms=60_000)
    old = group.join("one", **seldom)
    wait_shared(group, [old])
    newcomer = group.join("one", **seldom)
    wait_shared(group, [newcomer])
    partition = TopicPartition(group.topic, 0)
    with pytest.raises(NotOwnedError, match="FENCED_INSTANCE_ID"):
        old.commit({partition: 1})
    newcomer.commit({partition: 2})
    assert newcomer.committed([partition])[partition].offset == 2  # type: ignore[union-attr]


def test_commits_do_not_wait_for_a_join_that_waits_for_others(group: Group) -> None:
    """A cooperative member works on while the group rebalances; a broker answers in order, so joins have their own connection."""
    release: list[bool] = []

    def wait(_call: Call) -> None:
        eventually(lambda: release, "the release")

    slow, strategies = RecordingListener(revoked=wait), classic("cooperative-sticky")
    first = group.join(**strategies)
    wait_shared(group, [first])
    second = group.join(listener=slow, **strategies)
    wait_shared(group, [first, second])
    second.subscribe([f"{group.topic}-absent"])
    eventually(lambda: second.listener.of("revoked"), "the revoked callback")
    first.enforce_rebalance("waits for the second")
    first.wait(MemberState.JOINING)
    partition = min(first.assignment())
    first.commit({partition: 3}, timeout_s=5.0)
    assert first.snapshot.state is MemberState.JOINING
    release.append(True)


def test_commits_go_on_through_cooperative_rebalances(group: Group) -> None:
    """A partition that stays ours can be committed at any moment, also when the generation has just changed under us."""
    first = group.join(**classic("cooperative-sticky"))
    wait_shared(group, [first])
    for _ in range(3):
        second = group.join(**classic("cooperative-sticky"))
        offset = 0
        while not second.assignment():
            first.commit({min(first.assignment()): offset}, timeout_s=30.0)
            offset += 1
        second.close()
        while len(first.assignment()) < 6:
            first.commit({min(first.assignment()): offset}, timeout_s=30.0)
    assert not first.listener.of("lost")


def test_a_consumer_reads_in_a_classic_group(group: Group) -> None:
    """The same Consumer, with librdkafka's key for the protocol."""
    topic = filled_topic(group.bootstrap_servers, "classic", partitions=3, records=20)
    config = {
        "bootstrap.servers": group.bootstrap_servers,
        "group.id": group.id,
        "group.protocol": "classic",
        "partition.assignment.strategy": "cooperative-sticky",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(config)
    try:
        consumer.subscribe([topic])
        assert len(read(consumer, 20)) == 20
    finally:
        consumer.close()
