"""The classic protocol's requests and answers in every version, written by us and read by kio, and the other way round."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

import pytest

from membership_client.core import events
from membership_client.net import codec
from membership_client.net.consumer_blobs import SubscriptionReader, encode_assignment, encode_subscription
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import Offset, TopicPartition
from tests.net import answers
from tests.net.test_codec_requests import sent

JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, METADATA = 11, 14, 12, 13, 3
ORDERS = frozenset({TopicPartition("orders", 0), TopicPartition("orders", 1)})


def join(instance_id: str | None = None, **fields: Any) -> events.JoinGroup:
    says: dict[str, Any] = {"strategies": ("range", "sticky"), "topics": frozenset({"orders"}), "member_id": "m"}
    return events.JoinGroup(
        group_id="g", instance_id=instance_id, session_timeout_s=45.0, rebalance_timeout_s=60.0, **(says | fields)
    )


def sync(instance_id: str | None = None) -> events.SyncGroup:
    plan = {"m": tuple(sorted(ORDERS)), "n": ()}
    return events.SyncGroup(
        group_id="g", member_id="m", instance_id=instance_id, generation=4, strategy="range", plan=plan
    )


def heartbeat(instance_id: str | None = None) -> events.ClassicHeartbeat:
    return events.ClassicHeartbeat(group_id="g", member_id="m", instance_id=instance_id, generation=4)


def leave(instance_id: str | None = None, reason: str | None = "why") -> events.LeaveGroup:
    return events.LeaveGroup(group_id="g", member_id="m", instance_id=instance_id, reason=reason)


def decoded(request: events.Request, version: int, answer: Any) -> events.Response:
    return codec.decode(request, version, answers.payload(answer))[0]


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(10))
def test_a_join_in_every_version(version: int) -> None:
    """Fields that a version does not have are left out, and nothing else is."""
    message = sent(join("i" if version >= 5 else None, reason="because"), version).message
    assert (message.group_id, message.member_id, message.protocol_type) == ("g", "m", "consumer")
    assert message.session_timeout == dt.timedelta(seconds=45)
    assert getattr(message, "rebalance_timeout", dt.timedelta(seconds=60)) == dt.timedelta(seconds=60)
    assert getattr(message, "group_instance_id", "i") == "i"
    assert getattr(message, "reason", "because") == "because"
    assert [protocol.name for protocol in message.protocols] == ["range", "sticky"]


def test_each_strategy_is_told_what_it_goes_by() -> None:
    """The eager sticky one what we gave back, the cooperative one what we have."""
    request = join(
        strategies=("sticky", "cooperative-sticky"),
        owned=frozenset({TopicPartition("orders", 0)}),
        held=ORDERS,
        generation=3,
        rack="r",
    )
    said = {
        protocol.name: SubscriptionReader(protocol.name).read("m", None, protocol.metadata)
        for protocol in sent(request, 9).message.protocols
    }
    assert said["sticky"].owned == ORDERS
    assert said["cooperative-sticky"].owned == {TopicPartition("orders", 0)}
    assert {one.generation for one in said.values()} == {3}
    assert {one.rack for one in said.values()} == {"r"}


def test_half_a_character_in_a_reason_costs_nothing() -> None:
    """A reason is free text, and some Python strings have no UTF-8 form."""
    assert sent(join(reason="a\ud800b"), 9).message.reason == "a?b"


@pytest.mark.parametrize("version", range(6))
def test_a_sync_in_every_version(version: int) -> None:
    """The shares of all members, as they will read them."""
    message = sent(sync("i" if version >= 3 else None), version).message
    assert (message.generation_id, message.member_id, getattr(message, "protocol_name", "range")) == (4, "m", "range")
    assert {share.member_id: share.assignment for share in message.assignments} == {
        "m": encode_assignment(ORDERS),
        "n": encode_assignment(()),
    }


@pytest.mark.parametrize("version", range(5))
def test_a_heartbeat_in_every_version(version: int) -> None:
    """Who, and in which generation."""
    message = sent(heartbeat("i" if version >= 3 else None), version).message
    assert (message.group_id, message.generation_id, message.member_id) == ("g", 4, "m")


@pytest.mark.parametrize("version", range(6))
def test_a_leave_in_every_version(version: int) -> None:
    """One member, named at the top in old versions and in a list in new ones."""
    request = leave("i" if version >= 3 else None, "why" if version >= 5 else None)
    message = sent(request, version).message
    (who,) = getattr(message, "members", (message,))
    assert (who.member_id, getattr(who, "reason", "why")) == ("m", "why")


@pytest.mark.parametrize(
    ("request_", "least"),
    [
        (join(), 0),
        (join("i"), 5),
        (sync(), 0),
        (sync("i"), 3),
        (heartbeat("i"), 3),
        (leave(), 5),
        (leave(reason=None), 0),
        (leave("i", None), 3),
    ],
)
def test_an_old_broker_is_asked_only_what_it_can_understand(request_: events.Request, least: int) -> None:
    """A static member must not be taken for a dynamic one, and a reason is not dropped in silence."""
    key = {events.JoinGroup: 11, events.SyncGroup: 14, events.ClassicHeartbeat: 12, events.LeaveGroup: 13}[
        type(request_)
    ]
    assert codec.choose_version(request_, {key: (0, least)}) == least
    assert codec.choose_version(request_, {key: (0, least - 1)}) is None


@pytest.mark.parametrize("version", range(4, 14))
@pytest.mark.parametrize("topics", [None, frozenset({"b", "a"})])
def test_topics_are_asked_for_by_name(version: int, topics: frozenset[str] | None) -> None:
    """Or all of them; and none is created by asking."""
    message = sent(events.DescribeTopics(topics=topics), version).message
    assert not message.allow_auto_topic_creation
    asked = None if message.topics is None else [topic.name for topic in message.topics]
    assert asked == (None if topics is None else ["a", "b"])


@pytest.mark.parametrize("version", [7, 8, 9])
def test_offsets_are_committed_and_fetched_in_older_versions_too(version: int) -> None:
    """Brokers without KIP-848 have them, and a classic member commits there."""
    offsets = {TopicPartition("orders", 0): Offset(5)}
    commit = events.CommitOffsets(group_id="g", member_id="m", epoch=4, instance_id="i", offsets=offsets)
    message = sent(commit, version).message
    assert (message.generation_id_or_member_epoch, message.member_id, message.group_instance_id) == (4, "m", "i")
    fetch = events.FetchOffsets(group_id="g", member_id="m", epoch=4, partitions=frozenset(offsets))
    asked = sent(fetch, version).message
    (group,) = getattr(asked, "groups", (asked,))
    assert (group.group_id, asked.require_stable, group.topics[0].partition_indexes) == ("g", True, (0,))


def test_offsets_of_one_group_are_read() -> None:
    """As brokers told them before one answer could be about many groups."""
    wire = answers.module(9, 7)
    part = wire.OffsetFetchResponsePartition(
        partition_index=0, committed_offset=5, committed_leader_epoch=-1, metadata="", error_code=answers.Code(0)
    )
    topic = wire.OffsetFetchResponseTopic(name="orders", partitions=(part,))
    answer = wire.OffsetFetchResponse(
        throttle_time=answers.milliseconds(0), topics=(topic,), error_code=answers.Code(0)
    )
    wanted = frozenset({TopicPartition("orders", 0)})
    fetch = events.FetchOffsets(group_id="g", member_id="m", epoch=4, partitions=wanted)
    assert decoded(fetch, 7, answer) == events.OffsetsFetched({TopicPartition("orders", 0): Offset(5)}, {})


# --- answers ---------------------------------------------------------------------------------------------------------


def joined(version: int, error: int = 0, **fields: Any) -> Any:
    wire = answers.module(JOIN_GROUP, version)
    says: dict[str, Any] = {
        "throttle_time": answers.milliseconds(0),
        "generation_id": 4,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "leader": "m",
        "skip_assignment": False,
        "member_id": "m",
        "members": (),
    }
    known = {name: value for name, value in (says | fields).items() if name in wire.JoinGroupResponse.__annotations__}
    return wire.JoinGroupResponse(error_code=answers.Code(error), **known)


def member_of(version: int, metadata: bytes) -> Any:
    wire = answers.module(JOIN_GROUP, version)
    instance = {"group_instance_id": "i"} if version >= 5 else {}
    return wire.JoinGroupResponseMember(member_id="m", metadata=metadata, **instance)


@pytest.mark.parametrize("version", range(10))
def test_a_join_is_answered(version: int) -> None:
    """The leader is told who the members are and what they want."""
    blob = encode_subscription(MemberSubscription(member_id="m", topics=frozenset({"orders"})), "range")
    response = decoded(join(), version, joined(version, members=(member_of(version, blob),)))
    instance_id = "i" if version >= 5 else None
    wants = MemberSubscription(member_id="m", instance_id=instance_id, topics=frozenset({"orders"}))
    assert response == events.GroupJoined(
        generation=4, member_id="m", leader_id="m", strategy="range", members=(wants,)
    )


def test_a_member_whose_bytes_make_no_sense_wants_nothing() -> None:
    """A bug of another client must not cost the leader its group."""
    response = decoded(join(), 9, joined(9, members=(member_of(9, b"\x00\x01\xff"),)))
    assert isinstance(response, events.GroupJoined)
    assert response.members == (MemberSubscription(member_id="m", instance_id="i", topics=frozenset()),)


@pytest.mark.parametrize("version", range(4, 10))
def test_an_id_is_given_with_an_error(version: int) -> None:
    """It is in the answer that says that it is required."""
    assert decoded(join(), version, joined(version, 79, member_id="given")) == events.MemberIdGiven("given")


def test_an_id_that_is_required_and_not_given_is_a_refusal() -> None:
    """A member without one must not join under the empty name."""
    assert decoded(join(), 9, joined(9, 79, member_id="")) == events.Refused(79)


def test_a_group_without_a_strategy_has_none() -> None:
    """Brokers say null, or nothing, where no member has one."""
    response = decoded(join(), 9, joined(9, protocol_name=None))
    assert isinstance(response, events.GroupJoined)
    assert response.strategy == ""


def test_the_leader_reads_what_members_held_where_their_strategy_has_it() -> None:
    """Under `sticky` that is in the user data."""
    held = MemberSubscription(member_id="m", instance_id="i", topics=frozenset({"orders"}), owned=ORDERS, generation=3)
    members = (member_of(9, encode_subscription(held, "sticky")),)
    response = decoded(join(), 9, joined(9, protocol_name="sticky", members=members))
    assert isinstance(response, events.GroupJoined)
    assert response.members == (held,)


def test_the_plan_that_stands_is_told() -> None:
    """To a static leader that came back."""
    response = decoded(join(), 9, joined(9, skip_assignment=True))
    assert isinstance(response, events.GroupJoined)
    assert response.skip_assignment


@pytest.mark.parametrize("code", [25, 81, 9999])
def test_a_join_is_refused(code: int) -> None:
    """Also by an unknown code."""
    assert decoded(join(), 9, joined(9, code)) == events.Refused(code)


def test_a_sync_and_a_heartbeat_are_answered() -> None:
    """Our share, which is nothing where the leader forgot us or wrote what only it can read; and that all is well."""
    wire = answers.module(SYNC_GROUP, 3)
    for blob, share in ((encode_assignment(ORDERS), ORDERS), (b"", frozenset())):
        answer = wire.SyncGroupResponse(
            throttle_time=answers.milliseconds(0), error_code=answers.Code(0), assignment=blob
        )
        assert decoded(sync(), 3, answer) == events.GroupSynced(share)
    answer = wire.SyncGroupResponse(
        throttle_time=answers.milliseconds(0), error_code=answers.Code(0), assignment=b"for my own"
    )
    assert decoded(sync(), 3, answer) == events.GroupSynced(frozenset(), readable=False)
    alive = answers.module(HEARTBEAT, 0).HeartbeatResponse(error_code=answers.Code(0))
    assert decoded(heartbeat(), 0, alive) == events.HeartbeatConfirmed()
    rebalances = answers.module(HEARTBEAT, 0).HeartbeatResponse(error_code=answers.Code(27))
    assert decoded(heartbeat(), 0, rebalances) == events.Refused(27)


def test_a_leave_that_names_nobody_in_its_answer_is_one() -> None:
    """Some brokers answer for the whole and leave the list empty."""
    wire = answers.module(LEAVE_GROUP, 5)
    answer = wire.LeaveGroupResponse(throttle_time=answers.milliseconds(0), error_code=answers.Code(0), members=())
    assert decoded(leave(), 5, answer) == events.GroupLeft()


def described(**fields: Any) -> Any:
    """Two brokers in racks; a topic with a replica on each, one that is Kafka's own, and one that may not be seen."""
    wire = answers.module(METADATA, 4)

    def topic(name: str, error: int, replicas: list[list[int]], *, internal: bool = False) -> Any:
        partitions = tuple(
            wire.MetadataResponsePartition(
                error_code=answers.Code(0), partition_index=n, leader_id=1, replica_nodes=tuple(nodes), isr_nodes=()
            )
            for n, nodes in reversed(list(enumerate(replicas)))
        )
        return wire.MetadataResponseTopic(
            error_code=answers.Code(error), name=name, is_internal=internal, partitions=partitions
        )

    brokers = tuple(
        wire.MetadataResponseBroker(node_id=n, host="h", port=1, rack=rack) for n, rack in fields["racks"].items()
    )
    topics = (topic("orders", 0, [[1], [1, 2]]), topic("__own", 0, [[1]], internal=True), topic("hidden", 29, []))
    return wire.MetadataResponse(
        throttle_time=answers.milliseconds(0), brokers=brokers, cluster_id="c", controller_id=1, topics=topics
    )


def test_topics_are_described_with_the_racks_of_their_replicas() -> None:
    """In the order of the partitions, whatever the order of the answer."""
    racks = {1: "east", 2: "west"}
    response = decoded(events.DescribeTopics(topics=None), 4, described(racks=racks))
    layout = TopicLayout(2, (frozenset({"east"}), frozenset({"east", "west"})))
    assert response == events.TopicsDescribed({"orders": layout}, denied=frozenset({"hidden"}))


def test_topics_that_are_asked_for_may_be_kafkas_own() -> None:
    """A pattern is not matched against them, but a name finds them; without racks a layout is only a number."""
    asked = events.DescribeTopics(topics=frozenset({"orders", "__own", "hidden"}))
    response = decoded(asked, 4, described(racks={1: None}))
    layouts = {"orders": TopicLayout(2), "__own": TopicLayout(1)}
    assert response == events.TopicsDescribed(layouts, denied=frozenset({"hidden"}))


def test_a_replica_on_a_broker_without_a_rack_is_near_no_member() -> None:
    """Brokers get their racks one by one."""
    response = decoded(events.DescribeTopics(topics=None), 4, described(racks={1: "east", 2: None}))
    assert isinstance(response, events.TopicsDescribed)
    assert response.layouts == {"orders": TopicLayout(2, (frozenset({"east"}), frozenset({"east"})))}


@pytest.mark.parametrize("rack", [None, "east"])
def test_topics_are_described_by_their_ids(rack: str | None) -> None:
    """From version 10 on; a topic may be told without its name there, and is none of those that were asked for."""
    wire = answers.module(METADATA, 12)
    topics = [(uuid.UUID(int=n), name, code) for n, name, code in TOLD]
    answer = replace(
        answers.metadata(12, topics),
        brokers=(wire.MetadataResponseBroker(node_id=1, host="h", port=1, rack=rack),),
    )
    near = (frozenset({"east"}),) if rack else None
    layout = TopicLayout(1, near, uuid.UUID(int=1)) if near else TopicLayout(1, topic_id=uuid.UUID(int=1))
    response = decoded(events.DescribeTopics(topics=frozenset({"orders", "hidden", "unknown"})), 12, answer)
    assert response == events.TopicsDescribed(
        {"orders": layout}, denied=frozenset({"hidden"}), unknown=frozenset({"unknown"})
    )


TOLD = [(1, "orders", 0), (2, None, 0), (3, "hidden", 29), (4, None, 29), (5, "unknown", 3), (6, None, 3)]
