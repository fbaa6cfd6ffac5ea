"""Requests of the classic protocol as kio's messages, and the meaning of their answers, in every version of brokers.

A field that a version does not have is left out. Where that matters, `least_..._version` asks for a later version.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from membership_client.core import events
from membership_client.core.error_codes import Code
from membership_client.net.consumer_blobs import (
    SubscriptionReader,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from membership_client.net.messages import fill, refused
from membership_client.net.reader import Undecodable
from membership_client.subscriptions import MemberSubscription, TopicLayout

PROTOCOL_TYPE = "consumer"


def said(text: str | None) -> str | None:
    """A reason with lone surrogates replaced: they cannot be written in UTF-8, and the request would fail."""
    return None if text is None else text.encode(errors="replace").decode()


# --- JoinGroup -------------------------------------------------------------------------------------------------------


def join_group(request: events.JoinGroup, wire: Any) -> Any:
    protocols = tuple(
        wire.JoinGroupRequestProtocol(name=name, metadata=encode_subscription(_offer(request, name), name))
        for name in request.strategies
    )
    return fill(
        wire.JoinGroupRequest,
        group_id=request.group_id,
        session_timeout=dt.timedelta(seconds=request.session_timeout_s),
        rebalance_timeout=dt.timedelta(seconds=request.rebalance_timeout_s),
        member_id=request.member_id,
        group_instance_id=request.instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=protocols,
        reason=said(request.reason),
    )


def _offer(request: events.JoinGroup, strategy: str) -> MemberSubscription:
    """For `sticky`, which is eager, the partitions that the member gave back; for all others those that it owns."""
    return MemberSubscription(
        member_id=request.member_id,
        topics=request.topics,
        owned=request.held if strategy == "sticky" else request.owned,
        generation=request.generation,
        rack=request.rack,
    )


def group_joined(_request: events.JoinGroup, answer: Any) -> events.Response:
    if answer.error_code == Code.MEMBER_ID_REQUIRED and answer.member_id:
        return events.MemberIdGiven(answer.member_id)
    if answer.error_code:
        return refused(answer)
    return events.GroupJoined(
        generation=answer.generation_id,
        member_id=answer.member_id,
        leader_id=answer.leader,
        strategy=answer.protocol_name or "",
        members=_members(answer),
        skip_assignment=getattr(answer, "skip_assignment", False),
    )


def _members(answer: Any) -> tuple[MemberSubscription, ...]:
    reader = SubscriptionReader(answer.protocol_name or "")
    return tuple(_member(reader, member) for member in answer.members)


def _member(reader: SubscriptionReader, member: Any) -> MemberSubscription:
    """One member's subscription. One that cannot be read counts as empty, so that all others get their share."""
    instance_id = getattr(member, "group_instance_id", None)
    try:
        return reader.read(member.member_id, instance_id, member.metadata)
    except Undecodable:
        return MemberSubscription(member_id=member.member_id, instance_id=instance_id, topics=frozenset())


def least_join_version(request: events.JoinGroup) -> int:
    return 0 if request.instance_id is None else 5


# --- SyncGroup -------------------------------------------------------------------------------------------------------


def sync_group(request: events.SyncGroup, wire: Any) -> Any:
    shares = (
        wire.SyncGroupRequestAssignment(member_id=member_id, assignment=encode_assignment(partitions))
        for member_id, partitions in request.plan.items()
    )
    return fill(
        wire.SyncGroupRequest,
        group_id=request.group_id,
        generation_id=request.generation,
        member_id=request.member_id,
        group_instance_id=request.instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=request.strategy,
        assignments=tuple(shares),
    )


def group_synced(_request: events.SyncGroup, answer: Any) -> events.Response:
    """The assignment that the leader wrote. The broker passes it on unread, so an unreadable one is no fault of the broker."""
    if answer.error_code:
        return refused(answer)
    try:
        return events.GroupSynced(decode_assignment(answer.assignment))
    except Undecodable:
        return events.GroupSynced(frozenset(), readable=False)


# --- Heartbeat -------------------------------------------------------------------------------------------------------


def classic_heartbeat(request: events.ClassicHeartbeat, wire: Any) -> Any:
    return fill(
        wire.HeartbeatRequest,
        group_id=request.group_id,
        generation_id=request.generation,
        member_id=request.member_id,
        group_instance_id=request.instance_id,
    )


def heartbeat_confirmed(_request: events.ClassicHeartbeat, answer: Any) -> events.Response:
    return refused(answer) if answer.error_code else events.HeartbeatConfirmed()


def least_member_version(request: events.SyncGroup | events.ClassicHeartbeat) -> int:
    return 0 if request.instance_id is None else 3


# --- LeaveGroup ------------------------------------------------------------------------------------------------------


def leave_group(request: events.LeaveGroup, wire: Any) -> Any:
    if not hasattr(wire, "MemberIdentity"):
        return wire.LeaveGroupRequest(group_id=request.group_id, member_id=request.member_id)
    member = fill(
        wire.MemberIdentity,
        member_id=request.member_id,
        group_instance_id=request.instance_id,
        reason=said(request.reason),
    )
    return wire.LeaveGroupRequest(group_id=request.group_id, members=(member,))


def group_left(_request: events.LeaveGroup, answer: Any) -> events.Response:
    for part in (answer, *getattr(answer, "members", ())):
        if part.error_code:
            return refused(part)
    return events.GroupLeft()


def least_leave_version(request: events.LeaveGroup) -> int:
    if request.reason is not None:
        return 5
    return 0 if request.instance_id is None else 3


# --- Metadata --------------------------------------------------------------------------------------------------------


def describe_topics(request: events.DescribeTopics, wire: Any) -> Any:
    wanted = None if request.topics is None else sorted(request.topics)
    return fill(
        wire.MetadataRequest,
        topics=None
        if wanted is None
        else tuple(fill(wire.MetadataRequestTopic, name=n, topic_id=None) for n in wanted),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def topics_described(request: events.DescribeTopics, answer: Any) -> events.Response:
    if getattr(answer, "error_code", 0):
        return refused(answer)
    racks = {broker.node_id: broker.rack for broker in answer.brokers if broker.rack is not None}
    known = (topic for topic in answer.topics if not topic.error_code and topic.name is not None)
    # A pattern is matched against all topics but Kafka's internal ones.
    wanted = (topic for topic in known if request.topics is not None or not topic.is_internal)
    denied = _with_code(answer, Code.TOPIC_AUTHORIZATION_FAILED)
    unknown = _with_code(answer, Code.UNKNOWN_TOPIC_OR_PARTITION)
    return events.TopicsDescribed({topic.name: _layout(topic, racks) for topic in wanted}, denied, unknown)


def _with_code(answer: Any, code: int) -> frozenset[str]:
    return frozenset(topic.name for topic in answer.topics if topic.error_code == code and topic.name)


def _layout(topic: Any, racks: Mapping[int, str]) -> TopicLayout:
    topic_id = getattr(topic, "topic_id", None)
    if not racks:
        return TopicLayout(len(topic.partitions), topic_id=topic_id)
    ordered = sorted(topic.partitions, key=lambda partition: partition.partition_index)
    near = (frozenset(racks[n] for n in partition.replica_nodes if n in racks) for partition in ordered)
    return TopicLayout(len(ordered), tuple(near), topic_id)
