"""What members subscribe to: names, patterns, changes of both; and topics that change under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import (
    CauseKind,
    ConfigError,
    InvalidRegexError,
    MemberState,
    TopicPartition,
    UnsupportedAssignorError,
)
from tests.integration.members import eventually

if TYPE_CHECKING:
    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory
    from tests.integration.members import Group

pytestmark = pytest.mark.kafka


def partitions_of(topic: str, count: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for number in range(count))


# --- patterns --------------------------------------------------------------------------------------------------------


def test_a_pattern_the_broker_cannot_read(group: Group) -> None:
    """It is fatal with the broker's words, and another subscription on the same member starts over."""
    member = group.member()
    member.subscribe_pattern("look(?=ahead)")
    with pytest.raises(InvalidRegexError, match="RE2/J"):
        member.wait_stable()
    member.subscribe([group.topic])
    group.wait_for_shares([member], group.partitions(6))


def test_a_bad_pattern_of_a_member_in_the_group(group: Group) -> None:
    """The member ends, and its partitions are lost: no old subscription stays in force."""
    member = group.join()
    member.wait_stable()
    member.subscribe_pattern("(")
    with pytest.raises(InvalidRegexError):
        member.wait(lambda snapshot: snapshot.owned == frozenset() and snapshot.state is MemberState.STABLE)
    eventually(lambda: member.assignment() == frozenset(), "nothing owned")
    assert member.calls[-1].kind == "lost"


def test_a_bad_pattern_frees_the_partitions_long_before_the_session_ends(
    kafka: KafkaCluster, new_group: GroupFactory
) -> None:
    """The bug: the coordinator waited for the session of the member that had ended, and no member read its partitions."""
    group = new_group(kafka, consumer_session_timeout_ms=60_000)
    ended, other = group.join(), group.join()
    group.wait_for_shares([ended, other], group.partitions(6))
    ended.subscribe_pattern("(")
    with pytest.raises(InvalidRegexError):
        ended.wait(lambda snapshot: False)
    group.wait_for_shares([other], group.partitions(6))
    assert not group.knows(ended.snapshot.member_id)
    ended.subscribe([group.topic])
    group.wait_for_shares([ended, other], group.partitions(6))


# --- changes ---------------------------------------------------------------------------------------------------------


def test_other_topics(group: Group) -> None:
    """From one topic to another: the old one is given up, the new one arrives, and the cause is our own wish."""
    other = f"{group.topic}-other"
    group.create_topic(other, 3)
    member = group.join()
    member.wait_stable()
    member.subscribe([other])
    group.wait_for_shares([member], partitions_of(other, 3))
    revoked = member.listener.of("revoked")
    assert [call.partitions for call in revoked] == [group.partitions(6)]
    assert revoked[0].context.cause.kind is CauseKind.SUBSCRIPTION_CHANGED


def test_names_then_a_pattern_then_names(group: Group) -> None:
    """Each replaces the one before: a pattern that was dropped must not stay in force."""
    other = f"{group.topic}-other"
    group.create_topic(other, 3)
    member = group.join()
    group.wait_for_shares([member], group.partitions(6))
    member.subscribe_pattern(f"{group.topic}-o.*")
    group.wait_for_shares([member], partitions_of(other, 3))
    member.subscribe([group.topic])
    group.wait_for_shares([member], group.partitions(6))
    assert member.error is None


def test_an_unsubscribed_topic_is_given_up_at_once(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """Neither the heartbeat interval nor the assignment interval has to pass first."""
    group = new_group(kafka, consumer_heartbeat_interval_ms=30_000, consumer_assignment_interval_ms=15_000)
    other = f"{group.topic}-other"
    group.create_topic(other, 3)
    member = group.member()
    member.subscribe([group.topic, other])
    member.wait(lambda snapshot: len(snapshot.owned) == 9)
    member.subscribe([other])
    snapshot = member.wait_until(lambda snapshot: snapshot.owned == partitions_of(other, 3), timeout_s=10)
    assert snapshot.heartbeat_interval_s == 30


def test_a_second_topic_joins_the_first(group: Group) -> None:
    """What stays subscribed is not touched."""
    other = f"{group.topic}-other"
    group.create_topic(other, 3)
    member = group.join()
    member.wait_stable()
    member.subscribe([group.topic, other])
    group.wait_for_shares([member], group.partitions(6) | partitions_of(other, 3))
    assert [(call.kind, call.partitions) for call in member.calls] == [
        ("assigned", group.partitions(6)),
        ("assigned", partitions_of(other, 3)),
    ]


def test_a_topic_that_does_not_exist_yet(group: Group) -> None:
    """Subscribing to it is no error; its partitions come with it."""
    later = f"{group.topic}-later"
    member = group.member()
    member.subscribe([later])
    assert member.wait_stable().owned == frozenset()
    group.create_topic(later, 2)
    group.wait_for_shares([member], partitions_of(later, 2))


def test_a_name_instead_of_a_list(group: Group) -> None:
    """The usual slip is named, and nothing is subscribed."""
    member = group.member()
    with pytest.raises(ConfigError, match=r"did you mean \['orders'\]"):
        member.subscribe("orders")
    assert member.snapshot.state is MemberState.UNSUBSCRIBED


# --- topics that change ----------------------------------------------------------------------------------------------


def test_added_partitions_arrive(group: Group) -> None:
    """Only the new ones are announced."""
    member = group.join()
    member.wait_stable()
    group.admin.add_partitions(group.topic, 9)
    group.wait_for_shares([member], group.partitions(9))
    assert not member.listener.of("revoked")
    assert member.calls[-1].partitions == group.partitions(9) - group.partitions(6)


def test_a_topic_deleted_and_created_again(group: Group) -> None:
    """The partitions of the old topic are given up and those of the new one, which has another id, are taken."""
    member = group.join()
    member.wait_stable()
    group.admin.delete_topic(group.topic)
    member.wait(lambda snapshot: snapshot.owned == frozenset() and snapshot.state is MemberState.STABLE)
    group.create_topic(group.topic, 2)
    group.wait_for_shares([member], group.partitions(2))
    assert [(call.kind, call.partitions) for call in member.calls] == [
        ("assigned", group.partitions(6)),
        ("revoked", group.partitions(6)),
        ("assigned", group.partitions(2)),
    ]


# --- assignors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_a_server_assignor(group: Group, assignor: str) -> None:
    """The group is assigned by the one the members ask for; range gives each an unbroken run of partitions."""
    pair = [group.join(group_remote_assignor=assignor) for _ in range(2)]
    group.wait_for_shares(pair, group.partitions(6))
    if assignor == "range":
        owned = sorted(sorted(p.partition for p in member.assignment()) for member in pair)
        assert owned == [[0, 1, 2], [3, 4, 5]]


def test_an_unknown_assignor(group: Group) -> None:
    """Fatal for good, with the list of those the broker has."""
    member = group.join(group_remote_assignor="nobody")
    with pytest.raises(UnsupportedAssignorError, match=r"uniform.*range"):
        member.wait_stable()
    with pytest.raises(UnsupportedAssignorError):
        member.subscribe([group.topic])
