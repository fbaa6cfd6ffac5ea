"""Our requests, read back by kio."""

from __future__ import annotations

import datetime as dt
import struct
from uuid import UUID, uuid4

import pytest

from membership_client.core import events
from membership_client.net import codec
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import Offset, TopicPartition
from tests.net.answers import Asked, read_request

TOPIC = UUID("6f1c54ff-6a83-4d3f-9f4e-0b0a5f4ce6c1")


def sent(request: events.Request, version: int) -> Asked:
    """What a broker reads when we send that."""
    data = codec.encode(request, version, correlation_id=42, client_id="tester")
    assert struct.unpack_from(">i", data) == (len(data) - 4,)
    asked = read_request(data[4:])
    assert (asked.version, asked.correlation_id, asked.client_id) == (version, 42, "tester")
    return asked


def heartbeat(
    *,
    epoch: int = 5,
    topics: tuple[str, ...] | None = None,
    regex: str | None = None,
    rebalance_timeout_s: float | None = None,
    owned: Partitions | None = None,
) -> Asked:
    request = events.Heartbeat(
        group_id="g",
        member_id="m",
        epoch=epoch,
        topics=topics,
        regex=regex,
        rebalance_timeout_s=rebalance_timeout_s,
        owned=owned,
    )
    return sent(request, 1)


def test_a_bare_heartbeat_leaves_everything_unsaid() -> None:
    """None means "unchanged", which the wire writes as null and, for the timeout, as -1."""
    asked = heartbeat()
    message = asked.message
    assert asked.api_key == 68
    assert (message.group_id, message.member_id, message.member_epoch) == ("g", "m", 5)
    assert message.instance_id is None
    assert message.rack_id is None
    assert message.rebalance_timeout == dt.timedelta(milliseconds=-1)
    assert message.subscribed_topic_names is None
    assert message.subscribed_topic_regex is None
    assert message.server_assignor is None
    assert message.topic_partitions is None


def test_a_full_heartbeat_says_everything() -> None:
    """Every field of the request reaches its place on the wire."""
    request = events.Heartbeat(
        group_id="g",
        member_id="m",
        epoch=-2,
        instance_id="i",
        rack_id="r",
        rebalance_timeout_s=45.5,
        topics=("a", "b"),
        regex="",
        assignor="uniform",
        owned=Partitions.of({TOPIC: [2, 0, 1]}),
    )
    message = sent(request, 1).message
    assert (message.member_epoch, message.instance_id, message.rack_id) == (-2, "i", "r")
    assert message.rebalance_timeout == dt.timedelta(seconds=45.5)
    assert message.subscribed_topic_names == ("a", "b")
    assert message.subscribed_topic_regex == ""
    assert message.server_assignor == "uniform"
    assert [(topic.topic_id, topic.partitions) for topic in message.topic_partitions] == [(TOPIC, (0, 1, 2))]


@pytest.mark.parametrize(
    ("topics", "regex", "names_sent", "regex_sent"),
    [
        (None, None, None, None),
        (("a",), None, ("a",), ""),
        (("a",), "", ("a",), ""),
        ((), None, (), ""),
        (None, "a.*", (), "a.*"),
        ((), "a.*", (), "a.*"),
        (None, "", (), ""),
    ],
)
def test_a_subscription_is_sent_whole_or_not_at_all(
    topics: tuple[str, ...] | None,
    regex: str | None,
    names_sent: tuple[str, ...] | None,
    regex_sent: str | None,
) -> None:
    """Names never travel beside a null regex: librdkafka's mock broker would abort."""
    message = heartbeat(topics=topics, regex=regex).message
    assert message.subscribed_topic_names == names_sent
    assert message.subscribed_topic_regex == regex_sent


def test_owning_nothing_is_not_the_same_as_saying_nothing() -> None:
    """An empty list of owned partitions is a statement, null is none."""
    assert heartbeat(owned=NOTHING).message.topic_partitions == ()
    assert heartbeat(owned=None).message.topic_partitions is None


@pytest.mark.parametrize("version", range(4))
def test_an_old_coordinator_request_has_one_key(version: int) -> None:
    """Before version 4 a request asks for one group."""
    asked = sent(events.FindCoordinator(group_id="g"), version)
    assert asked.api_key == 10
    assert asked.message.key == "g"
    assert getattr(asked.message, "key_type", 0) == 0


@pytest.mark.parametrize("version", range(4, 7))
def test_a_new_coordinator_request_has_a_list_of_keys(version: int) -> None:
    """From version 4 on a request asks for many groups; ours for one."""
    message = sent(events.FindCoordinator(group_id="g"), version).message
    assert (message.key_type, message.coordinator_keys) == (0, ("g",))


def test_a_leave_names_the_member_and_the_reason() -> None:
    """LeaveGroup carries identity and reason of exactly one member."""
    asked = sent(events.LeaveGroup(group_id="g", member_id="m", instance_id="i", reason="deploy"), 5)
    (member,) = asked.message.members
    assert (asked.api_key, asked.message.group_id) == (13, "g")
    assert (member.member_id, member.group_instance_id, member.reason) == ("m", "i", "deploy")


def test_a_reason_that_is_no_text_does_not_prevent_the_leave() -> None:
    """Half a surrogate pair cannot be encoded, so a question mark takes its place."""
    asked = sent(events.LeaveGroup(group_id="g", member_id="m", instance_id=None, reason="x\udc80"), 5)
    assert asked.message.members[0].reason == "x?"


@pytest.mark.parametrize("version", [12, 13])
def test_topics_are_resolved_by_id(version: int) -> None:
    """Metadata is asked for ids only, and never creates a topic."""
    ids = frozenset({TOPIC, uuid4()})
    asked = sent(events.ResolveTopics(topic_ids=ids), version)
    assert asked.api_key == 3
    assert {topic.topic_id for topic in asked.message.topics} == ids
    assert {topic.name for topic in asked.message.topics} == {None}
    assert asked.message.allow_auto_topic_creation is False


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_is_described_by_its_id(version: int) -> None:
    """ConsumerGroupDescribe asks for one group."""
    asked = sent(events.DescribeGroup(group_id="g"), version)
    assert (asked.api_key, asked.message.group_ids) == (69, ("g",))


@pytest.mark.parametrize("version", range(1, 5))
def test_the_session_timeout_is_a_configuration_of_the_group(version: int) -> None:
    """DescribeConfigs asks for one key of one resource of type GROUP."""
    asked = sent(events.DescribeSessionTimeout(group_id="g"), version)
    (resource,) = asked.message.resources
    assert asked.api_key == 32
    assert (resource.resource_type, resource.resource_name) == (32, "g")
    assert resource.configuration_keys == ("consumer.session.timeout.ms",)


def test_a_commit_carries_who_we_are_and_every_offset() -> None:
    """Member id, epoch and instance id, by which the coordinator knows that the partitions are ours."""
    offsets = {
        TopicPartition("orders", 1): Offset(17),
        TopicPartition("orders", 0): Offset(5, leader_epoch=2, metadata="so far"),
        TopicPartition("bills", 0): Offset(0),
    }
    request = events.CommitOffsets(group_id="g", member_id="m", epoch=4, instance_id="i", offsets=offsets)
    message = sent(request, 9).message
    assert (message.group_id, message.member_id) == ("g", "m")
    assert (message.generation_id_or_member_epoch, message.group_instance_id) == (4, "i")
    told = {
        TopicPartition(topic.name, part.partition_index): (
            part.committed_offset,
            part.committed_leader_epoch,
            part.committed_metadata,
        )
        for topic in message.topics
        for part in topic.partitions
    }
    assert told == {p: (o.offset, -1 if o.leader_epoch is None else 2, o.metadata) for p, o in offsets.items()}
    assert [topic.name for topic in message.topics] == ["orders", "bills"]


@pytest.mark.parametrize(("known", "chosen"), [({"orders", "bills"}, 10), ({"orders"}, 9), (set(), 9)])
def test_offsets_are_those_of_topic_ids_where_all_are_known(known: set[str], chosen: int) -> None:
    """Version 10 has no names, so it is chosen only where it can be filled; older brokers are told names in any case."""
    ids = {name: uuid4() for name in sorted(known)}
    offsets = {TopicPartition("orders", 1): Offset(17), TopicPartition("bills", 0): Offset(0)}
    commit = events.CommitOffsets(
        group_id="g", member_id="m", epoch=4, instance_id=None, offsets=offsets, topic_ids=ids
    )
    fetch = events.FetchOffsets(group_id="g", member_id="m", epoch=4, partitions=frozenset(offsets), topic_ids=ids)
    offer = {8: (2, 11), 9: (1, 11)}
    assert [codec.choose_version(request, offer) for request in (commit, fetch)] == [chosen, chosen]
    assert codec.choose_version(commit, {8: (2, 9)}) == 9
    if chosen == 10:
        assert {topic.topic_id for topic in sent(commit, 10).message.topics} == set(ids.values())
        (group,) = sent(fetch, 10).message.groups
        assert {topic.topic_id for topic in group.topics} == set(ids.values())


@pytest.mark.parametrize(("member_id", "epoch"), [("m", 4), (None, -1)])
def test_offsets_are_fetched_inside_and_outside_the_group(member_id: str | None, epoch: int) -> None:
    """Offsets of open transactions are waited for, or a record would be read twice."""
    partitions = frozenset({TopicPartition("orders", 1), TopicPartition("orders", 0)})
    request = events.FetchOffsets(group_id="g", member_id=member_id, epoch=epoch, partitions=partitions)
    message = sent(request, 9).message
    (group,) = message.groups
    assert message.require_stable
    assert (group.group_id, group.member_id, group.member_epoch) == ("g", member_id, epoch)
    assert [(topic.name, topic.partition_indexes) for topic in group.topics] == [("orders", (0, 1))]


@pytest.mark.parametrize(
    ("offer", "chosen"),
    [({10: (0, 6)}, 6), ({10: (0, 3)}, 3), ({10: (5, 9)}, 6), ({10: (7, 9)}, None), ({}, None), ({10: (3, 1)}, None)],
)
def test_the_highest_common_version_is_used(offer: codec.Offer, chosen: int | None) -> None:
    """None where the ranges do not meet, whichever side is ahead."""
    assert codec.choose_version(events.FindCoordinator(group_id="g"), offer) == chosen


@pytest.mark.parametrize(
    ("offer", "text"), [({}, "is offered none"), ({68: (0, 0)}, "is offered v0"), ({68: (2, 4)}, "is offered v2 to v4")]
)
def test_a_missing_version_is_explained(offer: codec.Offer, text: str) -> None:
    """The text names the API, what we need and what there is."""
    said = codec.unsupported(events.Heartbeat(group_id="g", member_id="m", epoch=0), offer)
    assert said.startswith("needs ConsumerGroupHeartbeat v1 (Kafka 4.0 or later has it)")
    assert said.endswith(text)
