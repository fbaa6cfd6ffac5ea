"""Requests of members as kio's messages, and the meaning of their answers.

One pair of functions per API. `wire` is kio's module for one version of one message; its classes have no common type
over the versions, hence Any.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from membership_client.core import events
from membership_client.core.error_codes import Code
from membership_client.net.consumer_blobs import SubscriptionReader, decode_assignment, has_assignor_data
from membership_client.net.reader import Undecodable
from membership_client.partitions import Partitions, in_order
from membership_client.types import Node, Offset, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

SESSION_TIMEOUT_KEY = "consumer.session.timeout.ms"
_GROUP_RESOURCE = 32
_CLASSIC_MEMBER = 0
_CONSUMERS = "consumer"


def fill(message: Any, **values: Any) -> Any:
    """One of kio's messages, with those of the values for which its version has a field."""
    known = {field.name for field in fields(message)}
    return message(**{name: value for name, value in values.items() if name in known})


def refused(answer: Any) -> events.Refused:
    return events.Refused(int(answer.error_code), getattr(answer, "error_message", None))


def incomplete(what: str) -> events.Refused:
    """The broker answered without an error and without the thing we asked for."""
    return events.Refused(int(Code.UNKNOWN_SERVER_ERROR), what)


# --- FindCoordinator -------------------------------------------------------------------------------------------------


def find_coordinator(request: events.FindCoordinator, wire: Any) -> Any:
    # From version 4 on one request asks for many groups.
    if wire.FindCoordinatorRequest.__version__ >= 4:
        return wire.FindCoordinatorRequest(coordinator_keys=(request.group_id,))
    return wire.FindCoordinatorRequest(key=request.group_id)


def coordinator_found(request: events.FindCoordinator, answer: Any) -> events.Response:
    for found in getattr(answer, "coordinators", (answer,)):
        if getattr(found, "key", request.group_id) != request.group_id:
            continue
        if found.error_code:
            return refused(found)
        return events.CoordinatorFound(Node(host=found.host, port=found.port, node_id=found.node_id))
    return incomplete(f"the answer names no coordinator for group {request.group_id}")


# --- ConsumerGroupHeartbeat ------------------------------------------------------------------------------------------


def heartbeat(request: events.Heartbeat, wire: Any) -> Any:
    names, regex = _subscription(request)
    return wire.ConsumerGroupHeartbeatRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout=_timeout(request.rebalance_timeout_s),
        subscribed_topic_names=names,
        subscribed_topic_regex=regex,
        server_assignor=request.assignor,
        topic_partitions=None if request.owned is None else _owned(request.owned, wire),
    )


def _subscription(request: events.Heartbeat) -> tuple[tuple[str, ...] | None, str | None]:
    """Names and pattern, or neither of them: librdkafka's mock broker aborts on names beside a null regex."""
    if request.topics is None and request.regex is None:
        return None, None
    return request.topics or (), request.regex or ""


def _timeout(seconds: float | None) -> dt.timedelta:
    return dt.timedelta(milliseconds=-1) if seconds is None else dt.timedelta(seconds=seconds)


def _owned(partitions: Partitions, wire: Any) -> tuple[Any, ...]:
    return tuple(
        wire.TopicPartitions(topic_id=topic, partitions=in_order(numbers))
        for topic, numbers in partitions.by_topic.items()
    )


def heartbeat_accepted(_request: events.Heartbeat, answer: Any) -> events.Response:
    if answer.error_code:
        return refused(answer)
    return events.HeartbeatAccepted(
        epoch=answer.member_epoch,
        interval_s=answer.heartbeat_interval.total_seconds(),
        assignment=None if answer.assignment is None else _assigned(answer.assignment.topic_partitions),
    )


def _assigned(topics: Iterable[Any]) -> Partitions:
    numbers: dict[UUID, tuple[int, ...]] = {}
    more: dict[UUID, list[int]] = {}
    for topic in topics:
        if topic.topic_id is not None and numbers.setdefault(topic.topic_id, topic.partitions) is not topic.partitions:
            # Nothing forbids a broker to mention a topic twice.
            more.setdefault(topic.topic_id, []).extend(topic.partitions)
    return Partitions.of(numbers) | Partitions.of(more)


# --- Metadata --------------------------------------------------------------------------------------------------------


def resolve_topics(request: events.ResolveTopics, wire: Any) -> Any:
    return wire.MetadataRequest(
        topics=tuple(wire.MetadataRequestTopic(topic_id=topic, name=None) for topic in request.topic_ids),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )


def topics_resolved(request: events.ResolveTopics, answer: Any) -> events.Response:
    if getattr(answer, "error_code", 0):
        return refused(answer)
    return events.TopicsResolved(
        {
            topic.topic_id: topic.name
            for topic in answer.topics
            if not topic.error_code and topic.name is not None and topic.topic_id in request.topic_ids
        }
    )


# --- ConsumerGroupDescribe -------------------------------------------------------------------------------------------


def describe_group(request: events.DescribeGroup, wire: Any) -> Any:
    return wire.ConsumerGroupDescribeRequest(group_ids=(request.group_id,), include_authorized_operations=False)


def group_described(request: events.DescribeGroup, answer: Any) -> events.Response:
    group = next((group for group in answer.groups if group.group_id == request.group_id), None)
    if group is None:
        return incomplete(f"the answer does not describe group {request.group_id}")
    if group.error_code:
        return refused(group)
    return events.GroupDescribed(
        tuple(map(_member, group.members)),
        state=group.group_state,
        epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor_name,
    )


def _member(member: Any) -> events.MemberDescription:
    return events.MemberDescription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.client_host,
        epoch=member.member_epoch,
        current=_named(member.assignment.topic_partitions, "topic_name"),
        target=_named(member.target_assignment.topic_partitions, "topic_name"),
        topics=frozenset(member.subscribed_topic_names),
        regex=member.subscribed_topic_regex or "",
        is_classic=getattr(member, "member_type", -1) == _CLASSIC_MEMBER,
    )


def _named(topics: Iterable[Any], name: str) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(getattr(topic, name), number) for topic in topics for number in topic.partitions)


# --- DescribeGroups --------------------------------------------------------------------------------------------------


def describe_classic_group(request: events.DescribeClassicGroup, wire: Any) -> Any:
    # Operations can be asked for from version 3 on, and are not wanted.
    more = {"include_authorized_operations": False} if wire.DescribeGroupsRequest.__version__ >= 3 else {}
    return wire.DescribeGroupsRequest(groups=(request.group_id,), **more)


def classic_group_described(request: events.DescribeClassicGroup, answer: Any) -> events.Response:
    group = next((group for group in answer.groups if group.group_id == request.group_id), None)
    if group is None:
        return incomplete(f"the answer does not describe group {request.group_id}")
    if group.error_code:
        return refused(group)
    if group.protocol_type not in {"", _CONSUMERS}:
        # Members of other kinds, such as Kafka Connect, write formats of their own.
        return events.Refused(int(Code.INCONSISTENT_GROUP_PROTOCOL), f"it is a group of {group.protocol_type}")
    reader = SubscriptionReader(group.protocol_data)
    members = tuple(_classic_member(member, reader) for member in group.members)
    return events.GroupDescribed(members, state=group.group_state, assignor=group.protocol_data)


def _classic_member(member: Any, reader: SubscriptionReader) -> events.MemberDescription:
    current, has_assignor_data = _assigned_to(member)
    return events.MemberDescription(
        member_id=member.member_id,
        instance_id=getattr(member, "group_instance_id", None),
        client_id=member.client_id,
        host=member.client_host,
        current=current,
        target=current,
        topics=_subscribed(member, reader),
        is_classic=True,
        has_assignor_data=has_assignor_data,
    )


def _assigned_to(member: Any) -> tuple[frozenset[TopicPartition], bool]:
    """No partitions while the group rebalances, and where the leader wrote a format of its own, which is an assignor's data."""
    try:
        return decode_assignment(member.member_assignment), has_assignor_data(member.member_assignment)
    except Undecodable:
        return frozenset(), True


def _subscribed(member: Any, reader: SubscriptionReader) -> frozenset[str]:
    """Empty while the group rebalances, and where the member wrote a format of its own."""
    try:
        return reader.read(member.member_id, None, member.member_metadata).topics
    except Undecodable:
        return frozenset()


# --- DescribeConfigs -------------------------------------------------------------------------------------------------


def describe_session_timeout(request: events.DescribeSessionTimeout, wire: Any) -> Any:
    resource = wire.DescribeConfigsResource(
        resource_type=_GROUP_RESOURCE, resource_name=request.group_id, configuration_keys=(SESSION_TIMEOUT_KEY,)
    )
    return wire.DescribeConfigsRequest(resources=(resource,))


def session_timeout_described(_request: events.DescribeSessionTimeout, answer: Any) -> events.Response:
    for result in answer.results:
        if result.error_code:
            return refused(result)
        for entry in result.configs:
            if entry.name == SESSION_TIMEOUT_KEY:
                return _session_timeout(entry.value)
    return incomplete(f"the answer does not tell {SESSION_TIMEOUT_KEY}")


def _session_timeout(value: str | None) -> events.Response:
    try:
        seconds = int(value or "") / 1000
    except (ValueError, OverflowError):
        seconds = 0.0
    if seconds <= 0:
        return incomplete(f"{SESSION_TIMEOUT_KEY} is {value!r:.40}, which is no length of time")
    return events.SessionTimeoutDescribed(seconds)


# --- OffsetCommit ----------------------------------------------------------------------------------------------------


def commit_offsets(request: events.CommitOffsets, wire: Any) -> Any:
    topics = (
        fill(
            wire.OffsetCommitRequestTopic,
            name=topic,
            topic_id=request.topic_ids.get(topic),
            partitions=tuple(_position(partition, request.offsets[partition], wire) for partition in partitions),
        )
        for topic, partitions in by_topic(request.offsets).items()
    )
    return wire.OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.epoch,
        member_id=request.member_id,
        group_instance_id=request.instance_id,
        topics=tuple(topics),
    )


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def _position(partition: TopicPartition, offset: Offset, wire: Any) -> Any:
    return wire.OffsetCommitRequestPartition(
        partition_index=partition.partition,
        committed_offset=offset.offset,
        committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def most_commit_version(request: events.CommitOffsets) -> int:
    return _most_version(request.offsets, request.topic_ids)


def _most_version(partitions: Iterable[TopicPartition], topic_ids: Mapping[str, UUID]) -> int:
    """From version 10 on there are no names."""
    return 10 if all(partition.topic in topic_ids for partition in partitions) else 9


def offsets_committed(request: events.CommitOffsets, answer: Any) -> events.Response:
    parts = partitions_of(answer.topics, request.topic_ids)
    return events.OffsetsCommitted({p: int(part.error_code) for p, part in parts})


def partitions_of(
    topics: Iterable[Any], topic_ids: Mapping[str, UUID] = MappingProxyType({})
) -> Iterator[tuple[TopicPartition, Any]]:
    """The partitions by name, also where the answer has ids. Partitions that were not asked for are left out."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    for topic in topics:
        name = topic.name if hasattr(topic, "name") else names.get(topic.topic_id)
        if name is not None:
            yield from ((TopicPartition(name, part.partition_index), part) for part in topic.partitions)


# --- OffsetFetch -----------------------------------------------------------------------------------------------------


def fetch_offsets(request: events.FetchOffsets, wire: Any) -> Any:
    # From version 8 on one request asks for many groups, and from version 9 on it names the member.
    many = hasattr(wire, "OffsetFetchRequestGroup")
    named = wire.OffsetFetchRequestTopics if many else wire.OffsetFetchRequestTopic
    topics = tuple(
        fill(
            named,
            name=topic,
            topic_id=request.topic_ids.get(topic),
            partition_indexes=tuple(p.partition for p in partitions),
        )
        for topic, partitions in by_topic(sorted(request.partitions)).items()
    )
    if not many:
        return fill(wire.OffsetFetchRequest, group_id=request.group_id, topics=topics, require_stable=True)
    who = {"member_id": request.member_id, "member_epoch": request.epoch}
    group = fill(wire.OffsetFetchRequestGroup, group_id=request.group_id, topics=topics, **who)
    return wire.OffsetFetchRequest(groups=(group,), require_stable=True)


def most_fetch_version(request: events.FetchOffsets) -> int:
    return _most_version(request.partitions, request.topic_ids)


def offsets_fetched(request: events.FetchOffsets, answer: Any) -> events.Response:
    return offsets_of(request.group_id, answer, request.topic_ids)


def offsets_of(group_id: str, answer: Any, topic_ids: Mapping[str, UUID]) -> events.Response:
    groups = getattr(answer, "groups", None)
    group = answer if groups is None else next((g for g in groups if g.group_id == group_id), None)
    if group is None:
        return incomplete(f"the answer has no offsets of group {group_id}")
    if group.error_code:
        return refused(group)
    parts = dict(partitions_of(group.topics, topic_ids))
    return events.OffsetsFetched(
        offsets={p: _offset(part) for p, part in parts.items() if not part.error_code},
        codes={p: int(part.error_code) for p, part in parts.items() if part.error_code},
    )


def _offset(part: Any) -> Offset | None:
    """The committed offset; None for -1, by which brokers say that nothing was committed."""
    if part.committed_offset < 0:
        return None
    leader_epoch = getattr(part, "committed_leader_epoch", -1)  # Since version 5.
    return Offset(part.committed_offset, leader_epoch if leader_epoch >= 0 else None, part.metadata or "")
