"""Administrators' requests in every version that a broker may speak: kio reads what we write, we read what it writes."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import asdict, replace
from typing import Any

import pytest

from membership_client.core import events
from membership_client.net import admin_requests as admin
from membership_client.net.codec import choose_version, decode, unsupported
from membership_client.types import Node, Offset, TopicPartition
from tests.net.answers import Code, classic_group_described, metadata, module, payload
from tests.net.test_codec_requests import sent

P = TopicPartition("orders", 3)
LEAVERS = (admin.Leaver("m-1"), admin.Leaver("m-2", "till-2"))
OFFSETS = admin.FindOffsets(at=admin.Moment.EARLIEST, partitions=frozenset({P}))
ALL = admin.FetchAllOffsets(group_id="shop")
FORGET = admin.ForgetOffsets(group_id="shop", partitions=frozenset({P}))
REMOVE = admin.RemoveMembers(group_id="shop", members=LEAVERS, reason="node \ud800lost")
CONFIGS = admin.DescribeConfigs(resource=admin.Resource.GROUP, name="shop", keys=("a", "b"))
ALTER = admin.AlterGroupConfigs(group_id="shop", values={"a": "1", "b": None})
LEADERS = admin.LocateLeaders(topics=frozenset({"orders"}))
TOPIC_RIGHTS = admin.DescribeTopicRights(topics=frozenset({"orders"}))
GROUP_RIGHTS = admin.DescribeGroupRights(group_id="shop")

VERSIONS: list[tuple[events.Request, int, int]] = [
    (admin.ListGroups(), 0, 5),
    (LEADERS, 4, 13),
    (OFFSETS, 1, 9),
    (ALL, 2, 9),
    (FORGET, 0, 0),
    (REMOVE, 3, 5),
    (CONFIGS, 1, 4),
    (ALTER, 0, 1),
    (admin.DescribeBroker(), 3, 4),
    (TOPIC_RIGHTS, 8, 13),
    (GROUP_RIGHTS, 3, 5),
]
EACH = [(request, version) for request, first, last in VERSIONS for version in range(first, last + 1)]


@pytest.mark.parametrize(("request_", "version"), EACH, ids=lambda part: getattr(type(part), "__name__", str(part)))
def test_every_version_is_written(request_: events.Request, version: int) -> None:
    """As kio reads it; a reason with half a character in it, too."""
    assert sent(request_, version).message is not None


SOME = frozenset({P, TopicPartition("orders", 1), TopicPartition("bills", 1)})


@pytest.mark.parametrize(
    ("request_", "version", "message"),
    [
        (admin.ListGroups(), 5, {"states_filter": (), "types_filter": ()}),
        (
            admin.LocateLeaders(topics=frozenset({"orders", "bills"})),
            10,
            {
                "topics": ({"topic_id": None, "name": "bills"}, {"topic_id": None, "name": "orders"}),
                "allow_auto_topic_creation": False,
                "include_cluster_authorized_operations": False,
                "include_topic_authorized_operations": False,
            },
        ),
        (
            admin.FindOffsets(at=admin.Moment.EARLIEST, partitions=SOME),
            2,
            {
                "replica_id": -1,
                "isolation_level": 0,
                "topics": (
                    {"name": "bills", "partitions": ({"partition_index": 1, "timestamp": -2},)},
                    {
                        "name": "orders",
                        "partitions": (
                            {"partition_index": 1, "timestamp": -2},
                            {"partition_index": 3, "timestamp": -2},
                        ),
                    },
                ),
            },
        ),
        (
            admin.FindOffsets(at=admin.Moment.LATEST, partitions=frozenset({P})),
            1,
            {
                "replica_id": -1,
                "topics": ({"name": "orders", "partitions": ({"partition_index": 3, "timestamp": -1},)},),
            },
        ),
        (ALL, 7, {"group_id": "shop", "topics": None, "require_stable": False}),
        (
            ALL,
            9,
            {
                "groups": ({"group_id": "shop", "member_id": None, "member_epoch": -1, "topics": None},),
                "require_stable": False,
            },
        ),
        (
            admin.ForgetOffsets(group_id="shop", partitions=SOME),
            0,
            {
                "group_id": "shop",
                "topics": (
                    {"name": "bills", "partitions": ({"partition_index": 1},)},
                    {"name": "orders", "partitions": ({"partition_index": 1}, {"partition_index": 3})},
                ),
            },
        ),
        (
            REMOVE,
            5,
            {
                "group_id": "shop",
                "members": (
                    {"member_id": "m-1", "group_instance_id": None, "reason": "node ?lost"},
                    {"member_id": "m-2", "group_instance_id": "till-2", "reason": "node ?lost"},
                ),
            },
        ),
        (
            CONFIGS,
            4,
            {
                "resources": ({"resource_type": 32, "resource_name": "shop", "configuration_keys": ("a", "b")},),
                "include_synonyms": True,
                "include_documentation": False,
            },
        ),
        (
            admin.DescribeConfigs(resource=admin.Resource.BROKER, name="1", keys=("a",)),
            1,
            {
                "resources": ({"resource_type": 4, "resource_name": "1", "configuration_keys": ("a",)},),
                "include_synonyms": True,
            },
        ),
        (
            admin.DescribeBroker(),
            4,
            {"client_software_name": "membership-client", "client_software_version": "admin"},
        ),
        (
            TOPIC_RIGHTS,
            12,
            {
                "topics": ({"topic_id": None, "name": "orders"},),
                "allow_auto_topic_creation": False,
                "include_topic_authorized_operations": True,
            },
        ),
        (
            admin.DescribeTopicRights(topics=None),
            9,
            {
                "topics": None,
                "allow_auto_topic_creation": False,
                "include_cluster_authorized_operations": False,
                "include_topic_authorized_operations": True,
            },
        ),
        (GROUP_RIGHTS, 5, {"groups": ("shop",), "include_authorized_operations": True}),
        (
            ALTER,
            1,
            {
                "resources": (
                    {
                        "resource_type": 32,
                        "resource_name": "shop",
                        "configs": (
                            {"name": "a", "config_operation": 0, "value": "1"},
                            {"name": "b", "config_operation": 1, "value": None},
                        ),
                    },
                ),
                "validate_only": False,
            },
        ),
    ],
    ids=lambda part: type(part).__name__,
)
def test_every_field_of_a_request_is_in_its_place(request_: events.Request, version: int, message: Any) -> None:
    """What is asked for, and nothing that would change something or cost the broker more."""
    assert asdict(sent(request_, version).message) == message


@pytest.mark.parametrize(("request_", "first", "last"), VERSIONS, ids=lambda part: type(part).__name__)
def test_the_newest_common_version_is_taken(request_: events.Request, first: int, last: int) -> None:
    """And a broker without one is named in words."""
    key = sent(request_, last).api_key
    assert choose_version(request_, {key: (0, 99)}) == last
    assert choose_version(request_, {key: (0, first)}) == first
    assert choose_version(request_, {}) is None
    assert "is offered none" in unsupported(request_, {})


def answered(request: events.Request, version: int, answer: Any) -> events.Response:
    return decode(request, version, payload(answer))[0]


NO_WAIT = {"throttle_time": dt.timedelta(0)}


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed(version: int) -> None:
    """Old brokers tell neither state nor type."""
    wire = module(16, version)
    newer = {"group_state": "Empty"} if version >= 4 else {}
    newest = {"group_type": "classic"} if version >= 5 else {}
    listed = wire.ListedGroup(group_id="shop", protocol_type="consumer", **newer, **newest)
    answer = wire.ListGroupsResponse(error_code=Code(0), groups=(listed,), **(NO_WAIT if version else {}))
    state, kind = newer.get("group_state", ""), newest.get("group_type", "")
    expected = admin.ListedGroup(group_id="shop", protocol_type="consumer", state=state, type=kind)
    assert answered(admin.ListGroups(), version, answer) == admin.GroupsListed((expected,))


def test_a_topic_that_is_denied_is_not_one_that_is_unknown() -> None:
    """It was once said not to exist."""
    told = {code: answered(LEADERS, 12, metadata(12, [(uuid.UUID(int=1), "orders", code)])) for code in (3, 29)}
    denied = {code: found.denied for code, found in told.items() if isinstance(found, admin.LeadersLocated)}
    assert denied == {3: frozenset(), 29: {"orders"}}


@pytest.mark.parametrize("version", [3, 4, 5])
def test_removals_are_told_one_by_one(version: int) -> None:
    """By what they were asked for."""
    wire = module(13, version)
    members = tuple(
        wire.MemberResponse(member_id=m.member_id, group_instance_id=m.instance_id, error_code=Code(code))
        for m, code in zip(LEAVERS, (0, 25), strict=True)
    )
    answer = wire.LeaveGroupResponse(error_code=Code(0), members=members, **NO_WAIT)
    assert answered(REMOVE, version, answer) == admin.MembersRemoved({LEAVERS[0]: 0, LEAVERS[1]: 25})


def test_a_removal_says_why() -> None:
    """In the broker's log, for each member; brokers before 3.2 have no field for it."""
    assert [member.reason for member in sent(REMOVE, 5).message.members] == ["node ?lost"] * 2


@pytest.mark.parametrize("version", [1, 9])
def test_offsets_of_logs_are_found_or_refused_one_by_one(version: int) -> None:
    """A leader that moved is an error of its partitions only."""
    wire = module(2, version)
    newer = {"leader_epoch": 0} if version >= 4 else {}
    parts = tuple(
        wire.ListOffsetsPartitionResponse(
            partition_index=n, error_code=Code(code), timestamp=-1, offset=offset, **newer
        )
        for n, code, offset in ((3, 0, 42), (4, 6, -1))
    )
    topic = wire.ListOffsetsTopicResponse(name="orders", partitions=parts)
    answer = wire.ListOffsetsResponse(topics=(topic,), **(NO_WAIT if version >= 2 else {}))
    assert answered(OFFSETS, version, answer) == admin.OffsetsFound({P: 42}, {TopicPartition("orders", 4): 6})


def test_a_group_of_others_is_no_group_of_consumers() -> None:
    """Kafka Connect's workers write what only they can read."""
    answer = classic_group_described(5, assignment=b"for workers")
    (group,) = answer.groups
    theirs = replace(answer, groups=(replace(group, protocol_type="connect"),))
    request = events.DescribeClassicGroup(group_id="g")
    assert answered(request, 5, theirs) == events.Refused(23, "it is a group of connect")


def test_leaders_are_located() -> None:
    """By the addresses in the same answer; a leader that is not among them, as in an election, is none."""
    wire = module(3, 12)
    brokers = tuple(wire.MetadataResponseBroker(node_id=n, host=f"h{n}", port=9000 + n, rack=None) for n in (1, 2))
    topics = tuple(
        wire.MetadataResponseTopic(
            error_code=Code(code),
            name=name,
            topic_id=uuid.UUID(int=7),
            partitions=tuple(
                wire.MetadataResponsePartition(
                    error_code=Code(0),
                    partition_index=n,
                    leader_id=leader,
                    leader_epoch=0,
                    replica_nodes=(),
                    isr_nodes=(),
                    offline_replicas=(),
                )
                for n, leader in enumerate(leaders)
            ),
        )
        for name, code, leaders in (("orders", 0, (2, 9)), ("hidden", 29, (1,)), ("broken", 5, (1,)), (None, 0, (1,)))
    )
    answer = wire.MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=topics, **NO_WAIT)
    assert answered(LEADERS, 12, answer) == admin.LeadersLocated(
        brokers={1: Node("h1", 9001, 1), 2: Node("h2", 9002, 2)},
        leaders={TopicPartition("orders", 0): Node("h2", 9002, 2)},
        unled=frozenset({TopicPartition("orders", 1)}),
        denied=frozenset({"hidden"}),
    )


@pytest.mark.parametrize("version", [2, 9])
def test_all_offsets_of_a_group_are_fetched(version: int) -> None:
    """By a request without topics; errors are those of single partitions, or of the group."""
    wire = module(9, version)
    many = version >= 8
    part = wire.OffsetFetchResponsePartitions if many else wire.OffsetFetchResponsePartition
    epoch = {"committed_leader_epoch": -1} if version >= 5 else {}
    parts = tuple(
        part(partition_index=n, committed_offset=offset, metadata=None, error_code=Code(code), **epoch)
        for n, offset, code in ((0, 5, 0), (1, -1, 0), (2, -1, 29))
    )
    topics = (
        (wire.OffsetFetchResponseTopics if many else wire.OffsetFetchResponseTopic)(name="orders", partitions=parts),
    )

    def answer(code: int) -> Any:
        if not many:
            return wire.OffsetFetchResponse(topics=topics, error_code=Code(code))
        group = wire.OffsetFetchResponseGroup(group_id="shop", topics=topics, error_code=Code(code))
        return wire.OffsetFetchResponse(groups=(group,), **NO_WAIT)

    fetched = events.OffsetsFetched(
        {TopicPartition("orders", 0): Offset(5), TopicPartition("orders", 1): None}, {TopicPartition("orders", 2): 29}
    )
    assert answered(ALL, version, answer(0)) == fetched
    assert answered(ALL, version, answer(30)) == events.Refused(30)


def test_offsets_are_forgotten_one_by_one_or_not_at_all() -> None:
    """A partition whose topic a member still reads is refused alone."""
    wire = module(47, 0)
    parts = tuple(
        wire.OffsetDeleteResponsePartition(partition_index=n, error_code=Code(c)) for n, c in ((3, 0), (4, 86))
    )
    topics = (wire.OffsetDeleteResponseTopic(name="orders", partitions=parts),)
    taken = answered(FORGET, 0, wire.OffsetDeleteResponse(error_code=Code(0), topics=topics, **NO_WAIT))
    assert taken == events.OffsetsCommitted({P: 0, TopicPartition("orders", 4): 86})
    refused = wire.OffsetDeleteResponse(error_code=Code(69), topics=(), **NO_WAIT)
    assert answered(FORGET, 0, refused) == events.Refused(69)


def test_what_a_broker_refuses_as_a_whole_is_refused() -> None:
    """Listing, removing and altering."""
    listed = module(16, 5).ListGroupsResponse(error_code=Code(15), groups=(), **NO_WAIT)
    assert answered(admin.ListGroups(), 5, listed) == events.Refused(15)
    removed = module(13, 5).LeaveGroupResponse(error_code=Code(30), members=(), **NO_WAIT)
    assert answered(REMOVE, 5, removed) == events.Refused(30)


@pytest.mark.parametrize(("code", "response"), [(0, admin.ConfigsAltered()), (44, events.Refused(44, "too long"))])
def test_configurations_are_altered_or_not(code: int, response: events.Response) -> None:
    """The broker's own words say why not."""
    wire = module(44, 1)
    result = wire.AlterConfigsResourceResponse(
        error_code=Code(code), error_message="too long" if code else None, resource_type=32, resource_name="shop"
    )
    answer = wire.IncrementalAlterConfigsResponse(responses=(result,), **NO_WAIT)
    assert answered(ALTER, 1, answer) == response


def test_configurations_are_described_with_what_would_be_without_them() -> None:
    """The group's own value comes first among the synonyms, and the default is what follows it."""
    wire = module(32, 4)

    def entry(name: str, value: str, *synonyms: tuple[str, int]) -> Any:
        return wire.DescribeConfigsResourceResult(
            name=name,
            value=value,
            read_only=False,
            config_source=synonyms[0][1] if synonyms else 5,
            is_sensitive=False,
            synonyms=tuple(wire.DescribeConfigsSynonym(name="s", value=v, source=source) for v, source in synonyms),
            config_type=3,
            documentation=None,
        )

    def answer(code: int, *entries: Any) -> Any:
        result = wire.DescribeConfigsResult(
            error_code=Code(code), error_message=None, resource_type=32, resource_name="shop", configs=entries
        )
        return wire.DescribeConfigsResponse(results=(result,), **NO_WAIT)

    entries = (entry("own", "1", ("1", 8), ("2", 4), ("3", 5)), entry("plain", "4", ("4", 5)), entry("bare", "6"))
    assert answered(CONFIGS, 4, answer(0, *entries)) == admin.ConfigsDescribed(
        (
            admin.ConfigEntry(name="own", value="1", is_own=True, default="2"),
            admin.ConfigEntry(name="plain", value="4", is_own=False, default="4"),
            admin.ConfigEntry(name="bare", value="6", is_own=False, default=None),
        )
    )
    assert answered(CONFIGS, 4, answer(29)) == events.Refused(29)
    nothing = wire.DescribeConfigsResponse(results=(), **NO_WAIT)
    assert answered(CONFIGS, 4, nothing) == events.Refused(-1, "the answer does not describe shop")


def test_features_and_versions_of_a_broker_are_read() -> None:
    """Features are a tagged field, which was skipped like all tagged fields; other tags still are."""
    wire = module(18, 4)
    answer = wire.ApiVersionsResponse(
        error_code=Code(0),
        api_keys=(wire.ApiVersion(api_key=68, min_version=0, max_version=1),),
        finalized_features_epoch=7,
        finalized_features=(
            wire.FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1),
            wire.FinalizedFeatureKey(name="metadata.version", max_version_level=30, min_version_level=30),
        ),
        zk_migration_ready=True,
        **NO_WAIT,
    )
    described = admin.BrokerDescribed({"group.version": 1, "metadata.version": 30}, {68: (0, 1)})
    assert answered(admin.DescribeBroker(), 4, answer) == described
    assert answered(admin.DescribeBroker(), 4, replace(answer, error_code=Code(42))) == events.Refused(42)


def test_what_a_user_may_do_is_read_from_its_bits() -> None:
    """Of topics, and of a group; the smallest number stands for a broker that does not report them."""
    wire = module(3, 12)
    topics = tuple(
        wire.MetadataResponseTopic(
            error_code=Code(code), name=name, topic_id=uuid.UUID(int=7), partitions=(), topic_authorized_operations=bits
        )
        for name, code, bits in (("orders", 0, 1 << 3 | 1 << 8 | 1 << 4), ("bills", 0, -(2**31)), ("secret", 29, 0))
    )
    answer = wire.MetadataResponse(brokers=(), cluster_id=None, topics=topics, **NO_WAIT)
    rights = {"orders": admin.TopicRights(0, frozenset(admin.Operation)), "bills": admin.TopicRights(0, None)}
    assert answered(TOPIC_RIGHTS, 12, answer) == admin.TopicRightsDescribed(rights, frozenset({"secret"}))

    described = classic_group_described(5, assignment=b"")
    (group,) = described.groups
    may_read = replace(described, groups=(replace(group, group_id="shop", authorized_operations=1 << 3),))
    expected = admin.GroupRightsDescribed(frozenset({admin.Operation.READ}))
    assert answered(GROUP_RIGHTS, 5, may_read) == expected
    assert isinstance(answered(GROUP_RIGHTS, 5, described), events.Refused)
