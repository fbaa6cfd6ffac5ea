"""What brokers answer, as kio's classes and as bytes. kio writes them, so our reading is checked against its writing."""

from __future__ import annotations

import datetime as dt
import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kio.index import load_payload_module
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from membership_client.net.messages import fill

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from membership_client.types import TopicPartition

OFFSET_COMMIT, OFFSET_FETCH = 8, 9
METADATA, FIND_COORDINATOR, LEAVE_GROUP, API_VERSIONS = 3, 10, 13, 18
DESCRIBE_CONFIGS, HEARTBEAT, DESCRIBE_GROUP = 32, 68, 69
DESCRIBE_CLASSIC_GROUP = 15
JOIN_GROUP, CLASSIC_HEARTBEAT, SYNC_GROUP = 11, 12, 14


@dataclass(frozen=True)
class Code:
    """An error code for kio to write, also one that its own list lacks."""

    value: int


def milliseconds(number: int) -> dt.timedelta:
    return dt.timedelta(milliseconds=number)


def module(api_key: int, version: int) -> Any:
    return load_payload_module(api_key, version, EntityType.response)


def payload(answer: Any, correlation_id: int = 7) -> bytes:
    """A whole frame without its size prefix."""
    body = io.BytesIO()
    header = answer.__header_schema__(correlation_id=correlation_id)
    entity_writer(type(header))(body, header)
    entity_writer(type(answer))(body, answer)
    return body.getvalue()


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire, read by kio."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    message: Any


def read_request(content: bytes) -> Asked:
    """Read a frame without its size prefix."""
    api_key, version = struct.unpack_from(">hh", content)
    requests: Any = load_payload_module(api_key, version, EntityType.request)
    schema = next(
        value
        for value in vars(requests).values()
        if getattr(value, "__type__", None) is EntityType.request and value.__name__.endswith("Request")
    )
    header, offset = entity_reader(schema.__header_schema__)(content, 0)
    message, size = entity_reader(schema)(content, offset)
    assert offset + size == len(content)
    return Asked(api_key, version, header.correlation_id, header.client_id, message)


# --- one builder per answer ------------------------------------------------------------------------------------------


def api_versions(version: int, offer: Mapping[int, tuple[int, int]], error: int = 0) -> Any:
    wire = module(API_VERSIONS, version)
    keys = tuple(
        wire.ApiVersion(api_key=key, min_version=first, max_version=last) for key, (first, last) in offer.items()
    )
    extra = {"throttle_time": milliseconds(0)} if version >= 1 else {}
    return wire.ApiVersionsResponse(error_code=Code(error), api_keys=keys, **extra)


def coordinator(
    version: int,
    *,
    group: str = "g",
    host: str = "h",
    port: int = 9092,
    node_id: int = 1,
    error: int = 0,
    throttle_ms: int = 0,
) -> Any:
    wire = module(FIND_COORDINATOR, version)
    found = {"node_id": node_id, "host": host, "port": port, "error_code": Code(error)}
    extra: dict[str, Any] = {"throttle_time": milliseconds(throttle_ms)} if version >= 1 else {}
    message = {"error_message": f"error {error}"} if version >= 1 else {}
    if version >= 4:
        one = wire.Coordinator(key=group, **found, **message)
        return wire.FindCoordinatorResponse(coordinators=(one,), **extra)
    return wire.FindCoordinatorResponse(**found, **message, **extra)


def heartbeat(
    *,
    epoch: int = 5,
    interval_ms: int = 3000,
    assignment: Sequence[tuple[UUID | None, Sequence[int]]] | None = None,
    error: int = 0,
    throttle_ms: int = 0,
) -> Any:
    wire = module(HEARTBEAT, 1)
    topics = [wire.TopicPartitions(topic_id=topic, partitions=tuple(p)) for topic, p in assignment or ()]
    return wire.ConsumerGroupHeartbeatResponse(
        throttle_time=milliseconds(throttle_ms),
        error_code=Code(error),
        error_message=f"error {error}" if error else None,
        member_id="m",
        member_epoch=epoch,
        heartbeat_interval=milliseconds(interval_ms),
        assignment=None if assignment is None else wire.Assignment(topic_partitions=tuple(topics)),
    )


def group_left(*, error: int = 0, member_error: int = 0) -> Any:
    wire = module(LEAVE_GROUP, 5)
    member = wire.MemberResponse(member_id="m", group_instance_id=None, error_code=Code(member_error))
    return wire.LeaveGroupResponse(throttle_time=milliseconds(0), error_code=Code(error), members=(member,))


def metadata(version: int, topics: Sequence[tuple[UUID, str | None, int]], *, error: int = 0) -> Any:
    wire = module(METADATA, version)
    broker = wire.MetadataResponseBroker(node_id=1, host="h", port=9092, rack=None)
    partition = wire.MetadataResponsePartition(
        error_code=Code(0),
        partition_index=0,
        leader_id=1,
        leader_epoch=0,
        replica_nodes=(1,),
        isr_nodes=(1,),
        offline_replicas=(),
    )
    extra = {"error_code": Code(error)} if version >= 13 else {}
    return wire.MetadataResponse(
        throttle_time=milliseconds(0),
        brokers=(broker,),
        cluster_id="c",
        controller_id=1,
        topics=tuple(
            wire.MetadataResponseTopic(error_code=Code(code), name=name, topic_id=topic, partitions=(partition,))
            for topic, name, code in topics
        ),
        **extra,
    )


def classic_group_described(version: int, *, state: str = "Stable", assignment: bytes = b"") -> Any:
    wire = module(DESCRIBE_CLASSIC_GROUP, version)
    static = {"group_instance_id": "i"} if version >= 4 else {}
    member = wire.DescribedGroupMember(
        member_id="m",
        client_id="c",
        client_host="/10.0.0.1",
        member_metadata=b"",
        member_assignment=assignment,
        **static,
    )
    described = wire.DescribedGroup(
        error_code=Code(0),
        group_id="g",
        group_state=state,
        protocol_type="consumer",
        protocol_data="range",
        members=(member,),
    )
    throttle = {"throttle_time": milliseconds(0)} if version >= 1 else {}
    return wire.DescribeGroupsResponse(groups=(described,), **throttle)


def group_described(version: int, *, group: str = "g", error: int = 0, topic: UUID | None = None) -> Any:
    wire = module(DESCRIBE_GROUP, version)
    assigned = wire.TopicPartitions(topic_id=topic, topic_name="orders", partitions=(0, 1))
    assignment = wire.Assignment(topic_partitions=(assigned,))
    member = wire.Member(
        member_id="m",
        instance_id="i",
        rack_id=None,
        member_epoch=3,
        client_id="c",
        client_host="/10.0.0.1",
        subscribed_topic_names=("orders",),
        subscribed_topic_regex=None,
        assignment=assignment,
        target_assignment=assignment,
    )
    described = wire.DescribedGroup(
        error_code=Code(error),
        error_message=f"error {error}" if error else None,
        group_id=group,
        group_state="Stable",
        group_epoch=3,
        assignment_epoch=3,
        assignor_name="uniform",
        members=(member,),
    )
    return wire.ConsumerGroupDescribeResponse(throttle_time=milliseconds(0), groups=(described,))


def configs(version: int, values: Mapping[str, str | None], *, error: int = 0) -> Any:
    wire = module(DESCRIBE_CONFIGS, version)
    extra = {"config_type": 3, "documentation": None} if version >= 3 else {}
    entries = tuple(
        wire.DescribeConfigsResourceResult(
            name=name, value=value, read_only=False, config_source=5, is_sensitive=False, synonyms=(), **extra
        )
        for name, value in values.items()
    )
    result = wire.DescribeConfigsResult(
        error_code=Code(error),
        error_message=f"error {error}" if error else None,
        resource_type=32,
        resource_name="g",
        configs=entries,
    )
    return wire.DescribeConfigsResponse(throttle_time=milliseconds(0), results=(result,))


def offsets_committed(codes: Mapping[TopicPartition, int], topic_ids: Mapping[str, UUID] | None = None) -> Any:
    """By name, or by id where ids are given."""
    wire = module(OFFSET_COMMIT, 9 if topic_ids is None else 10)
    topics = tuple(
        fill(
            wire.OffsetCommitResponseTopic,
            name=p.topic,
            topic_id=(topic_ids or {}).get(p.topic),
            partitions=(wire.OffsetCommitResponsePartition(partition_index=p.partition, error_code=Code(code)),),
        )
        for p, code in codes.items()
    )
    return wire.OffsetCommitResponse(throttle_time=milliseconds(0), topics=topics)


def offsets_fetched(
    offsets: Mapping[TopicPartition, tuple[int, int, str, int]],
    group: str = "g",
    error: int = 0,
    topic_ids: Mapping[str, UUID] | None = None,
) -> Any:
    """Each partition with offset, leader epoch, metadata and error code; by name, or by id where ids are given."""
    wire = module(OFFSET_FETCH, 9 if topic_ids is None else 10)
    topics = tuple(
        fill(
            wire.OffsetFetchResponseTopics,
            name=p.topic,
            topic_id=(topic_ids or {}).get(p.topic),
            partitions=(_fetched(wire, p.partition, told),),
        )
        for p, told in offsets.items()
    )
    answered = wire.OffsetFetchResponseGroup(group_id=group, topics=topics, error_code=Code(error))
    return wire.OffsetFetchResponse(throttle_time=milliseconds(0), groups=(answered,))


def _fetched(wire: Any, number: int, told: tuple[int, int, str, int]) -> Any:
    offset, leader_epoch, metadata, code = told
    return wire.OffsetFetchResponsePartitions(
        partition_index=number,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        metadata=metadata,
        error_code=Code(code),
    )
