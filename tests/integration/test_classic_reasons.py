"""Why members of a classic group join and leave, as an operator finds it in the broker's log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from membership_client import MemberState
from membership_client.core import reasons
from membership_client.testing import KafkaCluster
from tests.integration.classic import CLASSIC, classic, wait_shared
from tests.integration.conftest import GroupFactory, ProxiedKafka
from tests.integration.members import Call, Group, RecordingListener, WatchedMember, eventually, log_about
from tests.integration.proxy import JOIN_GROUP, SYNC_GROUP

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_reasons_are_in_the_brokers_log(kafka: KafkaCluster, group: Group) -> None:
    """Of the first join, of one that the application enforces, of a changed subscription, and of the leave."""
    other_topic = f"{group.topic}-other"
    group.create_topic(other_topic, 1)
    member = group.join(**CLASSIC)
    wait_shared(group, [member])
    before = member.epoch
    member.enforce_rebalance("rehearsal\N{EM DASH}" + "x" * 300)
    member.wait(lambda snapshot: snapshot.epoch > before and snapshot.state is MemberState.STABLE)
    member.subscribe([group.topic, other_topic])
    member.wait(lambda snapshot: len(snapshot.owned) == 7 and snapshot.state is MemberState.STABLE)
    member.close(reason="end of the day")
    said = log_about(kafka, group.id)
    eventually(lambda: "client reason: end of the day" in said(), "the last reason in the log")
    assert "client reason: subscribed by the application" in said()
    assert "client reason: rehearsal" + "\N{EM DASH}" + "x" * 245 + ")" in said()
    assert "client reason: subscription changed" in said()


def come_second(group: Group, strategy: str = "range") -> None:
    first = group.join(**classic(strategy))
    wait_shared(group, [first])
    wait_shared(group, [first, group.join(**classic(strategy))])


def grow(group: Group) -> None:
    member = group.join(**classic(metadata_max_age_ms=500))
    wait_shared(group, [member])
    group.admin.add_partitions(group.topic, 8)
    wait_shared(group, [member], 8)


def grow_while_the_leader_is_away(group: Group) -> None:
    leader = group.join("one", **CLASSIC)
    wait_shared(group, [leader])
    follower = group.join("two", **CLASSIC)
    wait_shared(group, [leader, follower])
    leader.close()
    group.admin.add_partitions(group.topic, 8)
    wait_shared(group, [group.join("one", **CLASSIC), follower], 8)


def come_back_with_fewer_topics(group: Group) -> None:
    other_topic = f"{group.topic}-other"
    group.create_topic(other_topic, 1)
    member = group.member("one", **CLASSIC)
    member.subscribe([group.topic, other_topic])
    member.wait(lambda snapshot: len(snapshot.owned) == 7)
    member.close()
    wait_shared(group, [group.join("one", **CLASSIC)])


def be_removed(group: Group) -> None:
    member = group.join(**CLASSIC)
    wait_shared(group, [member])
    group.remove(member.snapshot.member_id)
    eventually(lambda: member.listener.of("lost"), "the lost callback")
    wait_shared(group, [member])


def poll_no_more(group: Group) -> WatchedMember:
    member = group.join(**classic(max_poll_interval_ms=2000))
    wait_shared(group, [member])
    member.poll()
    member.wait(MemberState.STALE)
    return member


def raise_in_a_callback(group: Group) -> None:
    def fail(_call: Call) -> None:
        raise ValueError

    member = group.join(listener=RecordingListener(assigned=fail), callback_errors="leave", **CLASSIC)
    eventually(lambda: member.snapshot.state is MemberState.FATAL, "the end of the member")


def stable(group: Group) -> WatchedMember:
    member = group.join(**CLASSIC)
    wait_shared(group, [member])
    return member


REASONS: dict[str, Callable[[Group], object]] = {
    reasons.SUBSCRIBED: stable,
    reasons.REVOKED: lambda group: come_second(group, "cooperative-sticky"),
    reasons.TOPICS_CHANGED: grow,
    reasons.OUT_OF_DATE: grow_while_the_leader_is_away,
    reasons.MISFIT: come_back_with_fewer_topics,
    reasons.ENFORCED: lambda group: stable(group).enforce_rebalance(),
    f"{reasons.COORDINATOR_ERROR} UNKNOWN_MEMBER_ID": be_removed,
    f"{reasons.POLL_INTERVAL_EXCEEDED}: 2 s": poll_no_more,
    reasons.POLLS_AGAIN: lambda group: poll_no_more(group).poll(),
    f"{reasons.CALLBACK_FAILED}: assigned": raise_in_a_callback,
    reasons.UNSUBSCRIBED: lambda group: stable(group).unsubscribe(),
    reasons.CLOSED: lambda group: stable(group).close(),
}


@pytest.mark.parametrize("reason", REASONS)
def test_an_operator_finds_why(kafka: KafkaCluster, group: Group, reason: str) -> None:
    """What really happened is in the broker's log, in the words of the documented vocabulary."""
    REASONS[reason](group)
    eventually(lambda: f"client reason: {reason}" in log_about(kafka, group.id)(), "the reason in the log")


# --- what it takes a bad network to say ------------------------------------------------------------------------------


def test_a_member_that_the_group_did_not_wait_for(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """Its join comes late and begins another rebalance; then it finds that others may have what it had, and joins with nothing."""
    group, brief = new_group(proxied_kafka), classic("cooperative-sticky", max_poll_interval_ms=3000)
    late, other = group.join("late-one", **brief), group.join("other", **brief)
    wait_shared(group, [late, other])
    before = other.snapshot.epoch
    proxied_kafka.proxy.hold_requests(JOIN_GROUP, b"late-one")
    other.enforce_rebalance("somebody is late")
    other.wait(lambda snapshot: snapshot.epoch > before and snapshot.state is MemberState.STABLE)
    proxied_kafka.proxy.resume()
    eventually(lambda: late.listener.of("lost"), "the lost callback")
    wait_shared(group, [late, other])
    said = log_about(proxied_kafka.cluster, group.id)()
    assert f"client reason: {reasons.REBALANCING}" in said
    assert f"client reason: {reasons.PASSED_OVER}" in said


def test_a_plan_whose_receipt_is_lost(proxied_kafka: ProxiedKafka, new_group: GroupFactory) -> None:
    """The leader cannot know whether the broker has its plan, and has the group rebalance once more."""
    group = new_group(proxied_kafka)
    proxied_kafka.proxy.swallow_answers(SYNC_GROUP)
    wait_shared(group, [group.join(**CLASSIC)])
    assert f"client reason: {reasons.NO_ANSWER}" in log_about(proxied_kafka.cluster, group.id)()
