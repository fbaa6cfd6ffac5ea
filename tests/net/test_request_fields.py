"""Members' requests as a whole: every field of what a broker reads, in a version that has all of them, and in old ones."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from typing import Any
from uuid import UUID

import pytest

from membership_client.core import events
from membership_client.net import codec
from membership_client.net.consumer_blobs import encode_assignment
from membership_client.net.reader import Undecodable
from membership_client.net.telemetry_requests import GetTelemetrySubscriptions, PushTelemetry
from membership_client.types import Offset, TopicPartition
from tests.net.test_codec_requests import sent

TOPIC = UUID(int=7)
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
BOTH = frozenset({FIRST, SECOND})

JOIN = events.JoinGroup(
    group_id="g",
    member_id="m",
    instance_id="i",
    session_timeout_s=45.0,
    rebalance_timeout_s=60.0,
    strategies=("range",),
    topics=frozenset({"orders"}),
    reason="because",
)
SUBSCRIPTION = bytes.fromhex("0003 00000001 0006") + b"orders" + bytes.fromhex("ffffffff 00000000 ffffffff ffff")
SYNC = events.SyncGroup(
    group_id="g", member_id="m", instance_id="i", generation=4, strategy="range", plan={"m": (FIRST,), "n": ()}
)
LEAVE = events.LeaveGroup(group_id="g", member_id="m", instance_id="i", reason="why")
COMMIT = events.CommitOffsets(
    group_id="g", member_id="m", epoch=4, instance_id="i", offsets={FIRST: Offset(5, 2, "so far"), SECOND: Offset(6)}
)
FETCH = events.FetchOffsets(group_id="g", member_id="m", epoch=4, partitions=BOTH)
ASK_SUBSCRIPTION = GetTelemetrySubscriptions(client_instance_id=TOPIC)
PUSH = PushTelemetry(client_instance_id=TOPIC, subscription_id=-5, terminating=True, compression=1, metrics=b"\0otlp")

MESSAGES: list[tuple[events.Request, int, dict[str, Any]]] = [
    (events.FindCoordinator(group_id="g"), 3, {"key": "g", "key_type": 0}),
    (events.FindCoordinator(group_id="g"), 4, {"key_type": 0, "coordinator_keys": ("g",)}),
    (
        JOIN,
        9,
        {
            "group_id": "g",
            "session_timeout": dt.timedelta(seconds=45),
            "rebalance_timeout": dt.timedelta(seconds=60),
            "member_id": "m",
            "group_instance_id": "i",
            "protocol_type": "consumer",
            "protocols": ({"name": "range", "metadata": SUBSCRIPTION},),
            "reason": "because",
        },
    ),
    (
        SYNC,
        5,
        {
            "group_id": "g",
            "generation_id": 4,
            "member_id": "m",
            "group_instance_id": "i",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": (
                {"member_id": "m", "assignment": encode_assignment([FIRST])},
                {"member_id": "n", "assignment": encode_assignment([])},
            ),
        },
    ),
    (
        events.ClassicHeartbeat(group_id="g", member_id="m", instance_id="i", generation=4),
        4,
        {"group_id": "g", "generation_id": 4, "member_id": "m", "group_instance_id": "i"},
    ),
    (LEAVE, 5, {"group_id": "g", "members": ({"member_id": "m", "group_instance_id": "i", "reason": "why"},)}),
    (LEAVE, 2, {"group_id": "g", "member_id": "m"}),
    (
        events.DescribeTopics(topics=frozenset({"b", "a"})),
        10,
        {
            "topics": ({"topic_id": None, "name": "a"}, {"topic_id": None, "name": "b"}),
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": False,
        },
    ),
    (
        events.ResolveTopics(topic_ids=frozenset({TOPIC})),
        12,
        {
            "topics": ({"topic_id": TOPIC, "name": None},),
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
        },
    ),
    (events.DescribeGroup(group_id="g"), 1, {"group_ids": ("g",), "include_authorized_operations": False}),
    (events.DescribeClassicGroup(group_id="g"), 2, {"groups": ("g",)}),
    (events.DescribeClassicGroup(group_id="g"), 3, {"groups": ("g",), "include_authorized_operations": False}),
    (
        events.DescribeSessionTimeout(group_id="g"),
        4,
        {
            "resources": (
                {"resource_type": 32, "resource_name": "g", "configuration_keys": ("consumer.session.timeout.ms",)},
            ),
            "include_synonyms": False,
            "include_documentation": False,
        },
    ),
    (
        COMMIT,
        9,
        {
            "group_id": "g",
            "generation_id_or_member_epoch": 4,
            "member_id": "m",
            "group_instance_id": "i",
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {
                            "partition_index": 0,
                            "committed_offset": 5,
                            "committed_leader_epoch": 2,
                            "committed_metadata": "so far",
                        },
                        {
                            "partition_index": 1,
                            "committed_offset": 6,
                            "committed_leader_epoch": -1,
                            "committed_metadata": "",
                        },
                    ),
                },
            ),
        },
    ),
    (FETCH, 6, {"group_id": "g", "topics": ({"name": "orders", "partition_indexes": (0, 1)},)}),
    (
        FETCH,
        7,
        {
            "group_id": "g",
            "topics": ({"name": "orders", "partition_indexes": (0, 1)},),
            "require_stable": True,
        },
    ),
    (
        FETCH,
        9,
        {
            "groups": (
                {
                    "group_id": "g",
                    "member_id": "m",
                    "member_epoch": 4,
                    "topics": ({"name": "orders", "partition_indexes": (0, 1)},),
                },
            ),
            "require_stable": True,
        },
    ),
    (ASK_SUBSCRIPTION, 0, {"client_instance_id": TOPIC}),
    (GetTelemetrySubscriptions(client_instance_id=None), 0, {"client_instance_id": None}),
    (
        PUSH,
        0,
        {
            "client_instance_id": TOPIC,
            "subscription_id": -5,
            "terminating": True,
            "compression_type": 1,
            "metrics": b"\0otlp",
        },
    ),
]


@pytest.mark.parametrize(
    ("request_", "version", "message"), MESSAGES, ids=lambda part: getattr(type(part), "__name__", "")
)
def test_every_field_is_in_its_place(request_: events.Request, version: int, message: dict[str, Any]) -> None:
    """Those that a version has; and nothing is created, or computed by the broker, that was not asked for."""
    assert asdict(sent(request_, version).message) == message


DYNAMIC = events.LeaveGroup(group_id="g", member_id="m", instance_id=None, reason=None)
CLASSIC_HEARTBEAT = events.ClassicHeartbeat(group_id="g", member_id="m", instance_id=None, generation=4)
VERSIONS: list[tuple[events.Request, int, str, tuple[int, int], str]] = [
    (events.FindCoordinator(group_id="g"), 10, "FindCoordinator", (0, 6), "4.0"),
    (events.Heartbeat(group_id="g", member_id="m", epoch=0), 68, "ConsumerGroupHeartbeat", (1, 1), "4.0"),
    (DYNAMIC, 13, "LeaveGroup", (0, 5), "2.3"),
    (JOIN, 11, "JoinGroup", (5, 9), "2.3"),
    (SYNC, 14, "SyncGroup", (3, 5), "2.3"),
    (CLASSIC_HEARTBEAT, 12, "Heartbeat", (0, 4), "2.3"),
    (events.DescribeTopics(topics=None), 3, "Metadata", (4, 13), "0.11"),
    (events.ResolveTopics(topic_ids=frozenset({TOPIC})), 3, "Metadata", (12, 13), "4.0"),
    (events.DescribeGroup(group_id="g"), 69, "ConsumerGroupDescribe", (0, 1), "4.0"),
    (events.DescribeClassicGroup(group_id="g"), 15, "DescribeGroups", (0, 5), "4.0"),
    (COMMIT, 8, "OffsetCommit", (7, 9), "2.3"),
    (FETCH, 9, "OffsetFetch", (5, 9), "2.1"),
    (events.DescribeSessionTimeout(group_id="g"), 32, "DescribeConfigs", (1, 4), "4.0"),
    (ASK_SUBSCRIPTION, 71, "GetTelemetrySubscriptions", (0, 0), "3.7"),
    (PUSH, 72, "PushTelemetry", (0, 0), "3.7"),
]


@pytest.mark.parametrize(("request_", "key", "name", "versions", "since"), VERSIONS, ids=[row[2] for row in VERSIONS])
def test_the_versions_that_can_be_spoken(
    request_: events.Request, key: int, name: str, versions: tuple[int, int], since: str
) -> None:
    """The newest that both know, down to the first that has a place for what is asked; else a sentence about why not."""
    first, last = versions
    assert sent(request_, last).api_key == key
    assert key in codec.API_KEYS
    assert codec.choose_version(request_, {key: (0, 99)}) == last
    assert codec.choose_version(request_, {key: (0, first)}) == first
    assert codec.choose_version(request_, {key: (0, first - 1)}) is None
    assert codec.choose_version(request_, {key: (last + 1, 99)}) is None
    span = f"v{first}" if first == last else f"v{first} to v{last}"
    said = codec.unsupported(request_, {})
    assert said == f"needs {name} {span} (Kafka {since} or later has it), and is offered none"


@pytest.mark.parametrize(
    ("request_", "most"),
    [
        (events.FindCoordinator(group_id="g"), 2**18),
        (CLASSIC_HEARTBEAT, 2**18),
        (DYNAMIC, 2**18),
        (events.DescribeSessionTimeout(group_id="g"), 2**18),
        (events.Heartbeat(group_id="g", member_id="m", epoch=0), 2**21),
        (SYNC, 2**22),
        (COMMIT, 2**22),
        (FETCH, 2**22),
        (JOIN, 2**25),
        (events.DescribeGroup(group_id="g"), 2**23),
    ],
    ids=lambda part: type(part).__name__,
)
def test_an_answer_may_be_so_long_and_no_longer(request_: events.Request, most: int) -> None:
    """The membership thread reads it while heartbeats wait; what is too long is refused before it is read."""
    version = codec.choose_version(request_, dict.fromkeys(codec.API_KEYS, (0, 99)))
    assert version is not None
    with pytest.raises(Undecodable, match=f"has {most + 1} bytes"):
        codec.decode(request_, version, b"\xff" * (most + 1))
    with pytest.raises(Undecodable) as caught:
        codec.decode(request_, version, b"\xff" * most)
    assert f"{most} bytes, and" not in str(caught.value)
