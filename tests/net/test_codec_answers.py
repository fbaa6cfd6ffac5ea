"""Answers, written by kio and read by us."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from membership_client.core import events
from membership_client.net import codec
from membership_client.partitions import NOTHING, Partitions
from membership_client.types import Node, Offset, TopicPartition
from tests.net import answers

A, B = UUID("00000000-0000-0000-0000-00000000000a"), UUID("00000000-0000-0000-0000-00000000000b")

FIND = events.FindCoordinator(group_id="g")
HEARTBEAT = events.Heartbeat(group_id="g", member_id="m", epoch=4)
LEAVE = events.LeaveGroup(group_id="g", member_id="m", instance_id=None, reason="r")
RESOLVE = events.ResolveTopics(topic_ids=frozenset({A, B}))
DESCRIBE = events.DescribeGroup(group_id="g")
CLASSIC = events.DescribeClassicGroup(group_id="g")
TIMEOUT = events.DescribeSessionTimeout(group_id="g")
COMMIT = events.CommitOffsets(group_id="g", member_id="m", epoch=4, instance_id=None, offsets={})
FETCH = events.FetchOffsets(group_id="g", member_id="m", epoch=4, partitions=frozenset())
KEY = "consumer.session.timeout.ms"


def decoded(request: events.Request, version: int, answer: Any) -> events.Response:
    return codec.decode(request, version, answers.payload(answer))[0]


# --- what each answer means ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_is_found(version: int) -> None:
    """Both shapes of the answer, with one coordinator and with a list, give the node."""
    answer = answers.coordinator(version, host="broker", port=9093, node_id=4)
    assert decoded(FIND, version, answer) == events.CoordinatorFound(Node("broker", 9093, 4))


def test_the_coordinator_of_another_group_is_not_ours() -> None:
    """An answer without our group is a refusal, not a guess."""
    response = decoded(FIND, 6, answers.coordinator(6, group="other"))
    assert isinstance(response, events.Refused)
    assert response.code == -1


def test_a_heartbeat_is_accepted() -> None:
    """Epoch and interval are handed on."""
    answer = answers.heartbeat(epoch=5, interval_ms=3000)
    assert decoded(HEARTBEAT, 1, answer) == events.HeartbeatAccepted(epoch=5, interval_s=3.0)


@pytest.mark.parametrize(("interval_ms", "epoch"), [(0, 0), (-5, -1), (2**31 - 1, 2**31 - 1), (-(2**31), -(2**31))])
def test_odd_numbers_are_handed_on(interval_ms: int, epoch: int) -> None:
    """Whether an interval or an epoch makes sense is for the core to judge."""
    answer = answers.heartbeat(interval_ms=interval_ms, epoch=epoch)
    assert decoded(HEARTBEAT, 1, answer) == events.HeartbeatAccepted(epoch=epoch, interval_s=interval_ms / 1000)


def test_no_assignment_is_not_an_empty_assignment() -> None:
    """None means no news, empty means "own nothing"."""
    silent, empty = decoded(HEARTBEAT, 1, answers.heartbeat()), decoded(HEARTBEAT, 1, answers.heartbeat(assignment=[]))
    assert isinstance(silent, events.HeartbeatAccepted)
    assert isinstance(empty, events.HeartbeatAccepted)
    assert silent.assignment is None
    assert empty.assignment == NOTHING


def test_a_careless_assignment_is_tidied() -> None:
    """A topic mentioned twice is merged; duplicates, negative numbers and topics without an id are dropped."""
    careless = [(A, [1, 1, -1]), (B, [0]), (A, [2, 1]), (None, [7]), (B, [])]
    response = decoded(HEARTBEAT, 1, answers.heartbeat(assignment=careless))
    assert isinstance(response, events.HeartbeatAccepted)
    assert response.assignment == Partitions.of({A: [1, 2], B: [0]})


def test_an_assignment_may_be_large() -> None:
    """Fifty thousand partitions survive."""
    assignment = [(uuid4(), range(50)) for _ in range(1000)]
    response = decoded(HEARTBEAT, 1, answers.heartbeat(assignment=assignment))
    assert isinstance(response, events.HeartbeatAccepted)
    assert response.assignment == Partitions.of(dict(assignment))


def test_the_group_is_left() -> None:
    """Neither the group nor the member has an error."""
    assert decoded(LEAVE, 5, answers.group_left()) == events.GroupLeft()


def test_the_members_own_error_counts() -> None:
    """A leave that the broker accepts as a whole may still fail for the one member in it."""
    assert decoded(LEAVE, 5, answers.group_left(member_error=25)) == events.Refused(25)


@pytest.mark.parametrize("version", [12, 13])
def test_topics_that_the_broker_does_not_know_are_missing(version: int) -> None:
    """An error of one topic costs only that topic's name; topics that were not asked for are ignored."""
    topics = [(A, "a", 0), (B, None, 100), (B, None, 0), (uuid4(), "stranger", 0)]
    assert decoded(RESOLVE, version, answers.metadata(version, topics)) == events.TopicsResolved({A: "a"})


@pytest.mark.parametrize("version", [0, 1])
def test_a_group_is_described(version: int) -> None:
    """Members come with the identity that names them to people, and with what they have and should have."""
    both = frozenset({TopicPartition("orders", 0), TopicPartition("orders", 1)})
    member = events.MemberDescription(
        member_id="m",
        instance_id="i",
        client_id="c",
        host="/10.0.0.1",
        epoch=3,
        current=both,
        target=both,
        topics=frozenset({"orders"}),
    )
    answer = answers.group_described(version, topic=A)
    assert decoded(DESCRIBE, version, answer) == events.GroupDescribed((member,), "Stable", 3, 3, "uniform")


@pytest.mark.parametrize("version", range(6))
def test_a_classic_group_is_described(version: int) -> None:
    """What the leader assigned is read whatever its version and user data; its epoch is not told."""
    # Version 3; two partitions of one topic; three bytes of user data, which only custom assignors write.
    assignment = (
        bytes.fromhex("0003 00000001 0006") + b"orders" + bytes.fromhex("00000002 00000000 00000004 00000003 aabbcc")
    )
    response = decoded(CLASSIC, version, answers.classic_group_described(version, assignment=assignment))
    both = frozenset({TopicPartition("orders", 0), TopicPartition("orders", 4)})
    instance_id = "i" if version >= 4 else None
    member = events.MemberDescription(
        member_id="m",
        instance_id=instance_id,
        client_id="c",
        host="/10.0.0.1",
        current=both,
        target=both,
        is_classic=True,
        has_assignor_data=True,
    )
    assert response == events.GroupDescribed((member,), "Stable", assignor="range")


@pytest.mark.parametrize(("data", "has_data"), [("", False), ("0000 00000000 ffffffff", False), ("0001", True)])
def test_an_assignment_without_user_data_is_no_custom_assignors(data: str, has_data: bool) -> None:
    """None yet, or one of a usual assignor; what cannot be read is of a custom one."""
    response = decoded(CLASSIC, 5, answers.classic_group_described(5, assignment=bytes.fromhex(data)))
    assert isinstance(response, events.GroupDescribed)
    assert (response.members[0].has_assignor_data, response.members[0].current) == (has_data, frozenset())


@pytest.mark.parametrize(("member_type", "is_classic"), [(-1, False), (0, True), (1, False)])
def test_a_group_that_is_being_upgraded_has_members_of_both_protocols(member_type: int, is_classic: bool) -> None:
    """And each may have subscribed by an expression."""
    answer = answers.group_described(1, topic=A)
    (group,) = answer.groups
    member = replace(group.members[0], member_type=member_type, subscribed_topic_regex="ord.*")
    response = decoded(DESCRIBE, 1, replace(answer, groups=(replace(group, members=(member,)),)))
    assert isinstance(response, events.GroupDescribed)
    assert (response.members[0].is_classic, response.members[0].regex) == (is_classic, "ord.*")


def test_a_classic_group_is_told_from_others_in_the_answer() -> None:
    """Also an empty one, which is of no kind."""
    answer = answers.classic_group_described(5)
    (group,) = answer.groups
    both = (replace(group, group_id="other", members=()), replace(group, protocol_type="", group_state="Empty"))
    response = decoded(CLASSIC, 5, replace(answer, groups=both))
    assert isinstance(response, events.GroupDescribed)
    assert (response.state, len(response.members)) == ("Empty", 1)
    missing = decoded(CLASSIC, 5, replace(answer, groups=both[:1]))
    assert missing == events.Refused(-1, "the answer does not describe group g")


@pytest.mark.parametrize("assignment", [b"", b"for my own"])
def test_a_classic_member_may_have_nothing(assignment: bytes) -> None:
    """While its group rebalances, and from a leader that writes what only it can read."""
    response = decoded(CLASSIC, 5, answers.classic_group_described(5, assignment=assignment))
    assert isinstance(response, events.GroupDescribed)
    assert response.members[0].current == frozenset()


def test_the_description_of_another_group_is_not_ours() -> None:
    """An answer without our group is a refusal, not an empty group."""
    response = decoded(DESCRIBE, 1, answers.group_described(1, group="other"))
    assert isinstance(response, events.Refused)
    assert response.code == -1


@pytest.mark.parametrize("version", range(1, 5))
def test_the_session_timeout_is_told_in_seconds(version: int) -> None:
    """The configuration is in milliseconds, as text."""
    answer = answers.configs(version, {"other": "1", KEY: "45000"})
    assert decoded(TIMEOUT, version, answer) == events.SessionTimeoutDescribed(45.0)
    short = answers.configs(version, {KEY: "500"})
    assert decoded(TIMEOUT, version, short) == events.SessionTimeoutDescribed(0.5)


@pytest.mark.parametrize(
    "values", [{}, {"other": "45000"}, *({KEY: value} for value in (None, "", "soon", "-1", "0", "4.5", "9" * 4000))]
)
def test_a_session_timeout_that_is_no_time_is_refused(values: dict[str, str | None]) -> None:
    """Missing or senseless values do not become numbers."""
    response = decoded(TIMEOUT, 4, answers.configs(4, values))
    assert isinstance(response, events.Refused)
    assert response.code == -1
    assert KEY in (response.message or "")


def test_a_commit_is_answered_partition_by_partition() -> None:
    """Known codes and unknown ones are handed on as numbers."""
    codes = {TopicPartition("orders", 0): 0, TopicPartition("bills", 3): 113, TopicPartition("bills", 4): 4711}
    assert decoded(COMMIT, 9, answers.offsets_committed(codes)) == events.OffsetsCommitted(codes)


def test_fetched_offsets_are_told_apart_from_none_and_from_errors() -> None:
    """-1 is "nothing committed", and a partition with an error has no offset."""
    told = {
        TopicPartition("orders", 0): (5, 2, "so far", 0),
        TopicPartition("orders", 1): (7, -1, "", 0),
        TopicPartition("orders", 2): (-1, -1, "", 0),
        TopicPartition("orders", 3): (-1, -1, "", 88),
        TopicPartition("orders", 4): (0, 0, "", 0),
    }
    assert decoded(FETCH, 9, answers.offsets_fetched(told)) == events.OffsetsFetched(
        offsets={
            TopicPartition("orders", 0): Offset(5, 2, "so far"),
            TopicPartition("orders", 1): Offset(7),
            TopicPartition("orders", 2): None,
            TopicPartition("orders", 4): Offset(0, 0),
        },
        codes={TopicPartition("orders", 3): 88},
    )


def test_offsets_of_topics_that_have_ids_are_told_by_name() -> None:
    """Those of topics that were not asked for are left out."""
    ids, foreign = {"orders": A}, {"orders": A, "others": B}
    place = TopicPartition("orders", 0)
    codes = {place: 100, TopicPartition("others", 0): 0}
    commit = replace(COMMIT, topic_ids=ids)
    assert decoded(commit, 10, answers.offsets_committed(codes, foreign)) == events.OffsetsCommitted({place: 100})
    told = {place: (5, -1, "", 0), TopicPartition("others", 0): (7, -1, "", 0)}
    fetched = decoded(replace(FETCH, topic_ids=ids), 10, answers.offsets_fetched(told, topic_ids=foreign))
    assert fetched == events.OffsetsFetched({place: Offset(5)}, {})


def test_offsets_of_another_group_are_not_ours() -> None:
    """An answer without our group is a refusal, not an empty group."""
    response = decoded(FETCH, 9, answers.offsets_fetched({}, group="other"))
    assert isinstance(response, events.Refused)
    assert response.code == -1


# --- errors ----------------------------------------------------------------------------------------------------------

ERRORS = [
    *[(FIND, version, lambda code, version=version: answers.coordinator(version, error=code)) for version in range(7)],
    (HEARTBEAT, 1, lambda code: answers.heartbeat(error=code)),
    (FETCH, 9, lambda code: answers.offsets_fetched({}, error=code)),
    (LEAVE, 5, lambda code: answers.group_left(error=code)),
    (LEAVE, 5, lambda code: answers.group_left(member_error=code)),
    (RESOLVE, 13, lambda code: answers.metadata(13, [(A, "a", 0)], error=code)),
    *[
        (DESCRIBE, version, lambda code, version=version: answers.group_described(version, error=code))
        for version in range(2)
    ],
    *[
        (TIMEOUT, version, lambda code, version=version: answers.configs(version, {KEY: "1"}, error=code))
        for version in range(1, 5)
    ],
]


@pytest.mark.parametrize("code", [-1, 16, 25, 110, 999, -2, 32767, -32768])
@pytest.mark.parametrize(("request_", "version", "answer"), ERRORS)
def test_every_error_code_is_a_refusal(request_: events.Request, version: int, answer: Any, code: int) -> None:
    """Also codes that kio does not know: they keep their number, and nothing is raised."""
    response = decoded(request_, version, answer(code))
    assert isinstance(response, events.Refused)
    assert response.code == code


def test_the_brokers_words_are_kept() -> None:
    """A refusal carries the broker's own explanation, where the API has room for one."""
    assert decoded(HEARTBEAT, 1, answers.heartbeat(error=111)) == events.Refused(111, "error 111")
    assert decoded(LEAVE, 5, answers.group_left(error=16)) == events.Refused(16, None)


@pytest.mark.parametrize("code", [100, 999])
def test_every_error_of_a_topic_makes_it_unknown(code: int) -> None:
    """Topic errors that kio does not know are no different."""
    assert decoded(RESOLVE, 12, answers.metadata(12, [(A, "a", code)])) == events.TopicsResolved({})


@pytest.mark.parametrize(("throttle_ms", "throttle_s"), [(0, 0.0), (250, 0.25), (-5, 0.0)])
def test_the_throttle_time_is_told_beside_the_answer(throttle_ms: int, throttle_s: float) -> None:
    """In seconds, and never negative."""
    payload = answers.payload(answers.heartbeat(throttle_ms=throttle_ms))
    assert codec.decode(HEARTBEAT, 1, payload)[1] == throttle_s


def test_an_answer_without_a_throttle_time_throttles_nothing() -> None:
    """The oldest FindCoordinator has no such field."""
    assert codec.decode(FIND, 0, answers.payload(answers.coordinator(0)))[1] == 0.0
