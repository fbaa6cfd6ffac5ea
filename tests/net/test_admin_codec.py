"""Administrators' requests in every version that a broker may speak: kio reads what we write, we read what it writes."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

import pytest

from membership_client.core import events
from membership_client.net import admin_requests as admin
from membership_client.net.codec import choose_version, decode, unsupported
from membership_client.types import TopicPartition
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

VERSIONS: list[tuple[events.Request, int, int]] = [
    (admin.ListGroups(), 0, 5),
    (LEADERS, 4, 13),
    (OFFSETS, 1, 9),
    (ALL, 2, 9),
    (FORGET, 0, 0),
    (REMOVE, 3, 5),
    (CONFIGS, 1, 4),
    (ALTER, 0, 1),
]
EACH = [(request, version) for request, first, last in VERSIONS for version in range(first, last + 1)]


@pytest.mark.parametrize(("request_", "version"), EACH, ids=lambda part: getattr(type(part), "__name__", str(part)))
def test_every_version_is_written(request_: events.Request, version: int) -> None:
    """As kio reads it; a reason with half a character in it, too."""
    assert sent(request_, version).message is not None


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
