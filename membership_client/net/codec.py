"""Encodes requests and decodes answers: which API, which version, which header."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kio.index import load_payload_module, load_response_schema
from kio.static.constants import EntityType

from membership_client.core import events
from membership_client.net import admin_messages, admin_requests, messages, telemetry_messages, telemetry_requests
from membership_client.net import classic_messages as classic
from membership_client.net.channel import MAX_FRAME_BYTES
from membership_client.net.reader import Undecodable, read
from membership_client.net.writer import write

if TYPE_CHECKING:
    from types import ModuleType

Offer = Mapping[int, tuple[int, int]]
"""The first and the last version that a broker offers, by API key."""


@dataclass(frozen=True, slots=True)
class _ApiCodec:
    """How one request is encoded: its API, the versions that we know, and the functions between values and messages."""

    key: int
    name: str
    first: int
    last: int
    to_wire: Callable[[Any, Any], Any]
    from_wire: Callable[[Any, Any], events.Response]
    least: Callable[[Any], int] | None = None
    """The first version that has a place for what this request says; None if all have."""
    since: str = "4.0"
    most: Callable[[Any], int] | None = None
    """The last version that can be filled with what this request knows; None if all can."""

    def first_for(self, request: events.Request) -> int:
        return self.first if self.least is None else self.least(request)

    def last_for(self, request: events.Request) -> int:
        return self.last if self.most is None else self.most(request)


_APIS: Mapping[type, _ApiCodec] = {
    events.FindCoordinator: _ApiCodec(
        10, "FindCoordinator", 0, 6, messages.find_coordinator, messages.coordinator_found
    ),
    # Version 0 was an early-access draft in which the broker chose the member id.
    events.Heartbeat: _ApiCodec(68, "ConsumerGroupHeartbeat", 1, 1, messages.heartbeat, messages.heartbeat_accepted),
    events.LeaveGroup: _ApiCodec(
        13, "LeaveGroup", 0, 5, classic.leave_group, classic.group_left, classic.least_leave_version, "2.3"
    ),
    events.JoinGroup: _ApiCodec(
        11, "JoinGroup", 0, 9, classic.join_group, classic.group_joined, classic.least_join_version, "2.3"
    ),
    events.SyncGroup: _ApiCodec(
        14, "SyncGroup", 0, 5, classic.sync_group, classic.group_synced, classic.least_member_version, "2.3"
    ),
    events.ClassicHeartbeat: _ApiCodec(
        12,
        "Heartbeat",
        0,
        4,
        classic.classic_heartbeat,
        classic.heartbeat_confirmed,
        classic.least_member_version,
        "2.3",
    ),
    # From version 4 on asking does not create a topic, and from version 1 on racks are told.
    events.DescribeTopics: _ApiCodec(
        3, "Metadata", 4, 13, classic.describe_topics, classic.topics_described, None, "0.11"
    ),
    # Brokers look topics up by id from version 12 on.
    events.ResolveTopics: _ApiCodec(3, "Metadata", 12, 13, messages.resolve_topics, messages.topics_resolved),
    events.DescribeGroup: _ApiCodec(
        69, "ConsumerGroupDescribe", 0, 1, messages.describe_group, messages.group_described
    ),
    events.DescribeClassicGroup: _ApiCodec(
        15, "DescribeGroups", 0, 5, messages.describe_classic_group, messages.classic_group_described
    ),
    # From version 9 on the epoch may be a KIP-848 member's, and all brokers with KIP-848 have version 9; version 10 knows topics by id
    # only. Below version 7 of OffsetCommit there are no instance ids.
    events.CommitOffsets: _ApiCodec(
        8,
        "OffsetCommit",
        7,
        10,
        messages.commit_offsets,
        messages.offsets_committed,
        None,
        "2.3",
        messages.most_commit_version,
    ),
    # Below version 7 a client cannot wait for open transactions: the broker answers with what was committed before. Java's
    # consumer uses these versions, too. librdkafka's mock cluster has version 6.
    events.FetchOffsets: _ApiCodec(
        9,
        "OffsetFetch",
        5,
        10,
        messages.fetch_offsets,
        messages.offsets_fetched,
        None,
        "2.1",
        messages.most_fetch_version,
    ),
    events.DescribeSessionTimeout: _ApiCodec(
        32, "DescribeConfigs", 1, 4, messages.describe_session_timeout, messages.session_timeout_described
    ),
    admin_requests.ListGroups: _ApiCodec(
        16, "ListGroups", 0, 5, admin_messages.list_groups, admin_messages.groups_listed, None, "0.9"
    ),
    admin_requests.LocateLeaders: _ApiCodec(
        3, "Metadata", 4, 13, admin_messages.locate_leaders, admin_messages.leaders_located, None, "0.11"
    ),
    admin_requests.FindOffsets: _ApiCodec(
        2, "ListOffsets", 1, 9, admin_messages.find_offsets, admin_messages.offsets_found, None, "0.10.1"
    ),
    admin_requests.FetchAllOffsets: _ApiCodec(
        9, "OffsetFetch", 2, 9, admin_messages.fetch_all_offsets, admin_messages.all_offsets_fetched, None, "0.10.2"
    ),
    admin_requests.ForgetOffsets: _ApiCodec(
        47, "OffsetDelete", 0, 0, admin_messages.forget_offsets, admin_messages.offsets_forgotten, None, "2.4"
    ),
    # Before version 3 a member could only speak for itself.
    admin_requests.RemoveMembers: _ApiCodec(
        13, "LeaveGroup", 3, 5, admin_messages.remove_members, admin_messages.members_removed, None, "2.4"
    ),
    admin_requests.DescribeConfigs: _ApiCodec(
        32, "DescribeConfigs", 1, 4, admin_messages.describe_configs, admin_messages.configs_described, None, "1.1"
    ),
    # From version 3 on brokers report features; version 8 of Metadata and 3 of DescribeGroups have what a user may do.
    admin_requests.DescribeBroker: _ApiCodec(
        18, "ApiVersions", 3, 4, admin_messages.describe_broker, admin_messages.broker_described, None, "2.4"
    ),
    admin_requests.DescribeTopicRights: _ApiCodec(
        3, "Metadata", 8, 13, admin_messages.describe_topic_rights, admin_messages.topic_rights_described, None, "2.3"
    ),
    admin_requests.DescribeGroupRights: _ApiCodec(
        15,
        "DescribeGroups",
        3,
        5,
        admin_messages.describe_group_rights,
        admin_messages.group_rights_described,
        None,
        "2.3",
    ),
    admin_requests.AlterGroupConfigs: _ApiCodec(
        44,
        "IncrementalAlterConfigs",
        0,
        1,
        admin_messages.alter_group_configs,
        admin_messages.configs_altered,
        None,
        "2.3",
    ),
    # Only brokers with a receiver of client metrics offer these two.
    telemetry_requests.GetTelemetrySubscriptions: _ApiCodec(
        71,
        "GetTelemetrySubscriptions",
        0,
        0,
        telemetry_messages.get_subscriptions,
        telemetry_messages.subscription_told,
        None,
        "3.7",
    ),
    telemetry_requests.PushTelemetry: _ApiCodec(
        72, "PushTelemetry", 0, 0, telemetry_messages.push_telemetry, telemetry_messages.telemetry_taken, None, "3.7"
    ),
}

_MIB = 2**20
_MOST_BYTES: Mapping[type, int] = {
    events.FindCoordinator: _MIB // 4,
    events.ClassicHeartbeat: _MIB // 4,
    events.LeaveGroup: _MIB // 4,
    events.DescribeSessionTimeout: _MIB // 4,
    telemetry_requests.GetTelemetrySubscriptions: _MIB // 4,
    telemetry_requests.PushTelemetry: _MIB // 4,
    # An assignment of half a million partitions.
    events.Heartbeat: 2 * _MIB,
    events.SyncGroup: 4 * _MIB,
    events.CommitOffsets: 4 * _MIB,
    events.FetchOffsets: 4 * _MIB,
    # The leader gets the subscription and the owned partitions of every member.
    events.JoinGroup: MAX_FRAME_BYTES,
}
"""How long an answer may be: the membership thread decodes it, and a hostile megabyte takes up to a second."""
_MOST_BYTES_OF_OTHERS = 8 * _MIB
"""The limit of all other answers: enough to describe two hundred thousand partitions in three replicas."""

API_KEYS = frozenset(api.key for api in _APIS.values())
"""The APIs that we may ever use."""


def choose_version(request: events.Request, offer: Offer) -> int | None:
    """The highest version that both sides know, or None."""
    api = _APIS[type(request)]
    first, last = offer.get(api.key, (0, -1))
    version = min(api.last_for(request), last)
    return version if version >= max(api.first_for(request), first) else None


def unsupported(request: events.Request, offer: Offer) -> str:
    """A sentence about why `choose_version` found none, to be followed by the broker's address."""
    api = _APIS[type(request)]
    offered = _span(*offer[api.key]) if api.key in offer else "none"
    needed = _span(api.first_for(request), api.last_for(request))
    return f"needs {api.name} {needed} (Kafka {api.since} or later has it), and is offered {offered}"


def _span(first: int, last: int) -> str:
    return f"v{first}" if first == last else f"v{first} to v{last}"


def encode(request: events.Request, version: int, correlation_id: int, client_id: str) -> bytes:
    """The request as the broker wants it, size prefix included."""
    api = _APIS[type(request)]
    return frame(api.to_wire(request, _module(api.key, version, EntityType.request)), correlation_id, client_id)


def frame(message: Any, correlation_id: int, client_id: str) -> bytes:
    """One of kio's requests with its header and size prefix."""
    header = message.__header_schema__(
        request_api_key=message.__api_key__,
        request_api_version=message.__version__,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    body = write(header) + write(message)
    return struct.pack(">i", len(body)) + body


def decode(request: events.Request, version: int, payload: bytes) -> tuple[events.Response, float]:
    """The answer to that request, and the throttle time in seconds.

    `payload` is a whole frame after its size prefix, so it begins with the correlation id.

    Raises:
        Undecodable: the bytes are no such answer. Nothing else is raised, whatever they are.
    """
    api = _APIS[type(request)]
    most = _MOST_BYTES.get(type(request), _MOST_BYTES_OF_OTHERS)
    if len(payload) > most:
        raise Undecodable(f"its answer to {api.name} has {len(payload)} bytes; the limit is {most} bytes")
    answer: Any = read_answer(api.key, version, payload)
    return api.from_wire(request, answer), _throttle_s(answer)


def read_answer(api_key: int, version: int, payload: bytes) -> Any:
    """The answer as kio's class has it, from a whole frame after its size prefix. Raises Undecodable."""
    schema: Any = _response(api_key, version)
    _, start = read(schema.__header_schema__, payload)
    answer, _ = read(schema, payload, start)
    return answer


def _throttle_s(answer: Any) -> float:
    # The oldest versions have no such field.
    throttle = getattr(answer, "throttle_time", None)
    return 0.0 if throttle is None else max(0.0, throttle.total_seconds())


@functools.cache
def _module(api_key: int, version: int, kind: Literal[EntityType.request, EntityType.response]) -> ModuleType:
    return load_payload_module(api_key, version, kind)


@functools.cache
def _response(api_key: int, version: int) -> Any:
    return load_response_schema(api_key, version)
