"""Committed offsets are set from outside: first a plan, then all changes, or an error that names the changed offsets."""

from __future__ import annotations

import datetime as dt

import pytest

from membership_client import ConfigError, GroupMember, TopicPartition
from membership_client.admin import (
    Earliest,
    Given,
    GroupAdmin,
    GroupNotEmptyError,
    Latest,
    OffsetsNotChangedError,
    Shift,
    Since,
    Target,
    read_csv,
    write_csv,
)
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import PATIENCE_S
from tests.records import filled_topic, produce

HOUR_S = 3600


@pytest.fixture
def group(kafka: KafkaCluster) -> str:
    """A topic with two partitions of ten records each, and a group of the same name that no member has joined."""
    return filled_topic(kafka.bootstrap_servers, "offsets", partitions=2, records=20)


def committed(admin: GroupAdmin, group: str) -> list[int]:
    found = admin.describe(group).committed
    return [found[place].offset for place in sorted(found)]


@pytest.mark.kafka
def test_offsets_go_where_they_are_set(kafka: KafkaCluster, admin: GroupAdmin, group: str) -> None:
    """They are set to either end, to given offsets, and shifted; a group can be set before it has members."""
    first = TopicPartition(group, 0)
    steps: list[tuple[Target, list[int]]] = [
        (Latest(), [10, 10]),
        (Earliest(), [0, 0]),
        (Given({first: 4}), [4, 0]),
        (Shift(3), [7, 3]),
        (Shift(-5), [2, 0]),
    ]
    for target, expected in steps:
        admin.reset(admin.plan_reset(group, target, topics=[group]))
        assert committed(admin, group) == expected


@pytest.mark.kafka
def test_what_a_partition_does_not_have_is_moved_into_it_and_noted(admin: GroupAdmin, group: str) -> None:
    """An offset outside the range is moved to the nearest end, as by Kafka's own tool."""
    given = Given({TopicPartition(group, 0): 99, TopicPartition(group, 1): 7})
    changes = admin.plan_reset(group, given).changes
    assert [(change.before, change.after, change.note) for change in changes] == [
        (None, 10, "99 is beyond the end"),
        (None, 7, ""),
    ]


@pytest.mark.kafka
def test_offsets_go_to_a_time(kafka: KafkaCluster, admin: GroupAdmin, group: str) -> None:
    """The offset is that of the first record at or after the time, or the end; a duration works as well."""
    topic, now = f"{group}-old", dt.datetime.now(dt.UTC)
    ClusterAdmin(kafka.bootstrap_servers).create_topic(topic, 1)
    for hours in (4, 2):
        produce(kafka.bootstrap_servers, topic, partitions=1, records=3, ago_s=hours * HOUR_S)
    places: list[tuple[Target, int]] = [
        (Since(now - dt.timedelta(hours=5)), 0),
        (Since(now - dt.timedelta(hours=3)), 3),
        (Since((now - dt.timedelta(hours=3)).replace(tzinfo=None)), 3),
        (Since.ago(dt.timedelta(hours=3)), 3),
        (Since.ago(dt.timedelta(hours=1)), 6),
    ]
    for target, offset in places:
        (change,) = admin.plan_reset(group, target, topics=[topic]).changes
        assert (target, change.after) == (target, offset)


@pytest.mark.kafka
def test_a_plan_changes_nothing_and_a_group_with_members_is_left_alone(
    kafka: KafkaCluster, admin: GroupAdmin, group: str
) -> None:
    """A live member would go on from where it is. Its topics' offsets cannot be forgotten either."""
    with GroupMember({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}) as member:
        member.subscribe([group])
        member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        member.commit({TopicPartition(group, 0): 4})
        plan = admin.plan_reset(group, Latest())
        assert [(change.before, change.after) for change in plan.changes] == [(4, 10)]
        with pytest.raises(GroupNotEmptyError, match=r"has members: 127\.0\.0\.1"):
            admin.reset(plan)
        with pytest.raises(
            OffsetsNotChangedError, match=r"Nothing was changed.* a member of the group subscribes"
        ) as no:
            admin.forget_offsets(group, [TopicPartition(group, 0)])
        assert (no.value.changed, list(no.value.refused)) == ({}, [TopicPartition(group, 0)])
        assert committed(admin, group) == [4]


@pytest.mark.kafka
def test_a_member_that_joins_between_plan_and_commit_is_noticed(
    kafka: KafkaCluster, admin: GroupAdmin, group: str
) -> None:
    """The coordinator refuses each partition, and the error names all of them."""
    from membership_client.admin import resetting

    plan = admin.plan_reset(group, Latest(), topics=[group])
    with GroupMember({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}) as member:
        member.subscribe([group])
        member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        with pytest.raises(OffsetsNotChangedError, match="a member has joined the group meanwhile") as refused:
            resetting.commit(admin._asker, plan)
        # Also of partitions that nobody owns: brokers look at the group, and not at the partition.
        unowned = filled_topic(kafka.bootstrap_servers, "offsets-unowned", partitions=1, records=1)
        with pytest.raises(OffsetsNotChangedError, match=f"{unowned}-0: a member has joined the group meanwhile"):
            resetting.commit(admin._asker, admin.plan_reset(group, Latest(), topics=[unowned]))
    assert refused.value.refused.keys() == {TopicPartition(group, 0), TopicPartition(group, 1)}


@pytest.mark.kafka
def test_offsets_of_what_nobody_subscribes_to_are_forgotten(kafka: KafkaCluster, admin: GroupAdmin, group: str) -> None:
    """This works even if the group has members that read other topics."""
    other = filled_topic(kafka.bootstrap_servers, "offsets-other", partitions=1, records=1)
    admin.reset(admin.plan_reset(group, Latest(), topics=[other]))
    with GroupMember({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}) as member:
        member.subscribe([group])
        member.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
        admin.forget_offsets(group, [TopicPartition(other, 0)])
        assert committed(admin, group) == []


@pytest.mark.kafka
def test_what_is_not_there_is_said_not_to_be(admin: GroupAdmin, group: str) -> None:
    """The error comes before anything is changed."""
    with pytest.raises(ConfigError, match="There is no topic no-such-topic"):
        admin.plan_reset(group, Latest(), topics=["no-such-topic", group])
    with pytest.raises(OffsetsNotChangedError, match=f"Nothing was changed.*{group}-7: UNKNOWN_TOPIC_OR_PARTITION"):
        admin.plan_reset(group, Given({TopicPartition(group, 7): 1, TopicPartition(group, 0): 1}))


def test_csv_is_what_kafkas_tool_writes() -> None:
    """The lines are of one group, or of several groups, of which the given one is taken."""
    offsets = {TopicPartition("orders", 10): 3, TopicPartition("orders", 2): 7}
    assert write_csv(offsets) == "orders,2,7\norders,10,3\n"
    assert read_csv(write_csv(offsets), "shop") == offsets
    assert read_csv("shop,orders,2,7\nother,orders,2,9\n\n", "shop") == {TopicPartition("orders", 2): 7}


@pytest.mark.parametrize("line", ["orders", "orders,x,1", "orders,1,-1", ",1,1", "a,b,c,d,e"])
def test_a_line_that_is_none_is_named(line: str) -> None:
    """The error has its number, and comes before anything is changed."""
    with pytest.raises(ConfigError, match=r"Line 2 is not topic,partition,offset"):
        read_csv(f"orders,0,1\n{line}\n", "shop")


def test_a_partition_that_is_named_twice_is_refused() -> None:
    """It is not clear which of the two offsets is meant."""
    with pytest.raises(ConfigError, match="Line 2 names orders-0 a second time"):
        read_csv("orders,0,1\norders,0,2\n", "shop")
