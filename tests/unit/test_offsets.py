"""Commits and fetches of offsets: what is asked, what is asked again, and how each ends; the answers are scripted."""

from __future__ import annotations

from types import SimpleNamespace
from uuid import UUID

import pytest

from membership_client import NotOwnedError, Offset, OffsetAccessError, OffsetError, TopicGoneError, TopicPartition
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CommitOffsets,
    Failed,
    FailureKind,
    FetchOffsets,
    GroupLeft,
    OffsetsCommitted,
    OffsetsFetched,
    Refused,
)
from membership_client.core.member import Member
from membership_client.errors import MemberClosedError, OffsetTimeoutError
from membership_client.partitions import Partitions
from membership_client.runtime.offsets import MemberOffsets
from membership_client.runtime.ownership import OwnershipNumbers
from membership_client.values import replace
from tests.core.classic_play import ClassicPlay
from tests.core.play import BILLS, ORDERS, Play
from tests.unit.scripted_worker import ScriptedWorker

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)
FOREIGN = TopicPartition("bills", 0)
PATIENCE_S = 30.0
SHORT_S = 0.1
"""Time for the calls that are meant to run out of it."""
TIMED_OUT = Refused(Code.REQUEST_TIMED_OUT)


def owner(**config: object) -> Member:
    """A member that owns both partitions."""
    return Play.new(**config).stable(0, 1).member


def commit(worker: ScriptedWorker, *partitions: TopicPartition, timeout_s: float = PATIENCE_S) -> None:
    """Offset 7 of each, under the ownership of this moment."""
    offsets = MemberOffsets(worker, OwnershipNumbers())
    ownership = offsets.ownership.of(partitions, lambda _: True)
    offsets.commit(dict.fromkeys(partitions, Offset(7)), ownership, timeout_s)


def fetch(
    worker: ScriptedWorker, *partitions: TopicPartition, timeout_s: float = PATIENCE_S
) -> dict[TopicPartition, Offset | None]:
    return MemberOffsets(worker, OwnershipNumbers()).committed(frozenset(partitions), timeout_s)


def took(**codes: int) -> OffsetsCommitted:
    """An answer to a commit: a code for `a` and for `b`."""
    return OffsetsCommitted({A if name == "a" else B: code for name, code in codes.items()})


# --- what is asked ---------------------------------------------------------------------------------------------------


def test_a_commit_says_who_commits_what() -> None:
    """The coordinator compares all of it with the group."""
    worker = ScriptedWorker(took(a=0), member=owner(group_instance_id="till-1"))
    commit(worker, A)
    assert worker.asked == [
        CommitOffsets(
            group_id="g",
            member_id="me",
            epoch=2,
            instance_id="till-1",
            offsets={A: Offset(7)},
            topic_ids={"orders": ORDERS},
        )
    ]


def test_a_fetch_says_who_asks() -> None:
    """A coordinator answers a member only under its own epoch."""
    worker = ScriptedWorker(OffsetsFetched({A: Offset(7)}, {}), member=owner())
    assert fetch(worker, A) == {A: Offset(7)}
    assert worker.asked == [
        FetchOffsets(group_id="g", member_id="me", epoch=2, partitions=frozenset({A}), topic_ids={"orders": ORDERS})
    ]


def test_offsets_are_fetched_by_a_stranger_outside_the_group() -> None:
    """Without a member id and an epoch, which a member has only after joining, a coordinator would refuse them."""
    outside = replace(Play.new().member, coordinator=owner().coordinator)
    worker = ScriptedWorker(OffsetsFetched({A: None}, {}), member=outside)
    assert fetch(worker, A) == {A: None}
    assert worker.asked == [FetchOffsets(group_id="g", member_id=None, epoch=-1, partitions=frozenset({A}))]


def test_a_fetch_knows_the_topics_that_are_about_to_be_assigned() -> None:
    """Their offsets are fetched before the assigned callback, when the member does not own them yet."""
    member = Play.new().stable(0).told(Partitions.of({ORDERS: [0], BILLS: [0]}), epoch=3).member
    worker = ScriptedWorker(OffsetsFetched({FOREIGN: None}, {}), member=member)
    fetch(worker, FOREIGN)
    assert worker.asked[0].topic_ids == {"orders": ORDERS, "bills": BILLS}


def test_a_classic_member_commits_by_the_ids_it_has_looked_up() -> None:
    """Its own ids are made of names; those of other topics are none of this commit's business."""
    real = UUID(int=77)
    member = ClassicPlay.new().stable(0, topic_id=real).member
    others = replace(member.classic, topic_ids={**member.classic.topic_ids, "bills": UUID(int=78)})
    worker = ScriptedWorker(took(a=0), member=replace(member, classic=others))
    commit(worker, A)
    assert worker.asked[0].topic_ids == {"orders": real}
    assert worker.asked[0].member_id == "given"


def test_a_member_of_the_first_generation_is_inside() -> None:
    """A coordinator refuses those inside who do not say who they are."""
    worker = ScriptedWorker(OffsetsFetched({A: None}, {}), member=ClassicPlay.new().stable(0, epoch=1).member)
    fetch(worker, A)
    assert (worker.asked[0].member_id, worker.asked[0].epoch) == ("given", 1)


def test_a_topic_whose_name_is_not_known_yet_is_left_out() -> None:
    """It was assigned a moment ago, and is being looked up."""
    member = Play.new().stable(0).told(Partitions.of({ORDERS: [0], BILLS: [0]}), epoch=3).member
    worker = ScriptedWorker(OffsetsFetched({A: None}, {}), member=replace(member, names={ORDERS: "orders"}))
    fetch(worker, A)
    assert worker.asked[0].topic_ids == {"orders": ORDERS}


def test_a_commit_of_what_is_not_owned_is_not_sent() -> None:
    """The error names each such partition, in order."""
    worker = ScriptedWorker(member=Play.new().stable(0).member)
    with pytest.raises(NotOwnedError, match=r"^Not owned any more: bills-0, orders-1\.") as caught:
        commit(worker, A, B, FOREIGN)
    assert worker.asked == []
    assert (caught.value.group_id, caught.value.member_id, caught.value.epoch) == ("g", "me", 2)


def test_a_member_outside_the_group_commits_nothing() -> None:
    """It may not know yet that it was fenced, and still list what it had."""
    worker = ScriptedWorker(member=replace(owner(), epoch=0))
    with pytest.raises(NotOwnedError):
        commit(worker, A)
    assert worker.asked == []


# --- what is asked again ---------------------------------------------------------------------------------------------


def test_only_what_was_not_committed_is_committed_again() -> None:
    """A second commit of the rest would be harmless, if nothing had come in between."""
    worker = ScriptedWorker(took(a=0, b=Code.REBALANCE_IN_PROGRESS), took(b=0), member=owner())
    commit(worker, A, B)
    assert [set(asked.offsets) for asked in worker.asked if isinstance(asked, CommitOffsets)] == [{A, B}, {B}]


def test_only_what_was_not_fetched_is_fetched_again() -> None:
    """And all of it is returned."""
    worker = ScriptedWorker(
        OffsetsFetched({A: Offset(1)}, {B: Code.UNSTABLE_OFFSET_COMMIT}), OffsetsFetched({B: None}, {}), member=owner()
    )
    assert fetch(worker, A, B) == {A: Offset(1), B: None}
    assert [asked.partitions for asked in worker.asked if isinstance(asked, FetchOffsets)] == [{A, B}, {B}]


@pytest.mark.parametrize("failure", [FailureKind.UNREACHABLE, FailureKind.DISCONNECTED])
def test_a_connection_that_fails_is_tried_again(failure: FailureKind) -> None:
    """The member finds its coordinator again meanwhile."""
    worker = ScriptedWorker(Failed(-1, failure, "it broke"), took(a=0), member=owner())
    commit(worker, A)
    assert len(worker.asked) == 2


@pytest.mark.parametrize("failure", [FailureKind.UNENCODABLE, FailureKind.UNSUPPORTED])
def test_a_request_that_cannot_be_sent_is_not_tried_again(failure: FailureKind) -> None:
    """It would fail in the same way each time, until time is up."""
    worker = ScriptedWorker(Failed(-1, failure, "needs OffsetCommit v7"), member=owner())
    with pytest.raises(OffsetError, match=r"^needs OffsetCommit v7\."):
        commit(worker, A)
    assert len(worker.asked) == 1


def test_a_member_that_is_closed_says_so_at_once() -> None:
    """Whatever the membership thread refuses with is what the caller gets."""
    worker = ScriptedWorker(MemberClosedError("The member is closed."), member=owner())
    with pytest.raises(MemberClosedError):
        fetch(worker, A)
    assert len(worker.asked) == 1


# --- how it ends -----------------------------------------------------------------------------------------------------


def test_a_partition_without_an_answer_is_an_error() -> None:
    """A coordinator that forgets a partition has not committed it, nor told its offset."""
    forgetful = ScriptedWorker(took(a=0), OffsetsFetched({A: None}, {}), member=owner())
    with pytest.raises(OffsetError, match=r"^UNKNOWN_SERVER_ERROR for orders-1\."):
        commit(forgetful, A, B)
    with pytest.raises(OffsetError, match=r"^UNKNOWN_SERVER_ERROR for orders-1\."):
        fetch(forgetful, A, B)


def test_answers_to_other_questions_are_errors() -> None:
    """Only a bug of a broker, or of ours, brings them."""
    worker = ScriptedWorker(GroupLeft(), GroupLeft(), member=owner())
    with pytest.raises(OffsetError, match="sent an answer to another request"):
        commit(worker, A)
    with pytest.raises(OffsetError, match="sent an answer to another request"):
        fetch(worker, A)


def test_a_coordinator_that_says_nothing_is_given_up_in_time() -> None:
    """The error says after how long, and that there was no answer."""
    worker = ScriptedWorker(member=owner())
    with pytest.raises(OffsetTimeoutError, match=r"^Given up after 0\.1 s: the coordinator did not answer\."):
        fetch(worker, A, timeout_s=SHORT_S)


def test_the_last_answer_is_told_when_time_is_up() -> None:
    """Silence at the end says less than what was said before it."""
    worker = ScriptedWorker(took(a=Code.UNSTABLE_OFFSET_COMMIT), member=owner())
    with pytest.raises(OffsetTimeoutError, match=r"^Given up after 0\.2 s: UNSTABLE_OFFSET_COMMIT for orders-0\."):
        commit(worker, A, timeout_s=2 * SHORT_S)
    assert len(worker.asked) == 2


def test_without_time_there_is_one_attempt() -> None:
    """An answer that is there already counts."""
    worker = ScriptedWorker(TIMED_OUT, took(a=0), member=owner())
    with pytest.raises(OffsetTimeoutError, match=r"^Given up after 0 s: REQUEST_TIMED_OUT\."):
        commit(worker, A, timeout_s=0.0)


def test_a_denial_names_what_has_to_be_granted() -> None:
    """A commit takes READ, a look DESCRIBE; on the group, or on the topics of those partitions that were denied."""
    denied = Code.TOPIC_AUTHORIZATION_FAILED
    answers = (
        OffsetsCommitted({A: denied, FOREIGN: denied, B: Code.NONE}),
        Refused(Code.GROUP_AUTHORIZATION_FAILED),
        OffsetsFetched({}, {A: denied}),
        Refused(Code.GROUP_AUTHORIZATION_FAILED),
    )
    both = replace(owner(), owned=Partitions.of({ORDERS: [0, 1], BILLS: [0]}), names={ORDERS: "orders", BILLS: "bills"})
    worker = ScriptedWorker(*answers, member=both)
    named = r"^READ on topics bills, orders is not granted \(TOPIC_AUTHORIZATION_FAILED for bills-0, orders-0\)\."
    with pytest.raises(OffsetAccessError, match=named):
        commit(worker, A, B, FOREIGN)
    with pytest.raises(OffsetAccessError, match=r"^READ on group g is not granted \(GROUP_AUTHORIZATION_FAILED\)\."):
        commit(worker, A)
    with pytest.raises(OffsetAccessError, match=r"^DESCRIBE on topic orders is not granted"):
        fetch(worker, A)
    with pytest.raises(OffsetAccessError, match=r"^DESCRIBE on group g is not granted"):
        fetch(worker, A)


def test_an_error_names_the_partitions_that_it_is_about() -> None:
    """Others had another error, or none."""
    codes = {A: Code.STALE_MEMBER_EPOCH, B: Code.UNKNOWN_MEMBER_ID}
    worker = ScriptedWorker(OffsetsCommitted(codes), member=owner())
    with pytest.raises(NotOwnedError, match=r"^UNKNOWN_MEMBER_ID for orders-1\."):
        commit(worker, A, B)


def test_a_coordinator_that_only_asks_for_patience_is_not_doubted() -> None:
    """Looking for it would cost every member of a group a request each time."""
    worker = ScriptedWorker(took(a=Code.STALE_MEMBER_EPOCH), took(a=0), member=owner())
    commit(worker, A)
    assert worker.posted == []


# --- topics that are gone --------------------------------------------------------------------------------------------


class Clock:
    """What `offsets` takes for the time: each attempt takes as long as the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("membership_client.runtime.offsets.time", SimpleNamespace(monotonic=lambda: self.now))

    def passes(self, worker: ScriptedWorker, *seconds: float) -> None:
        """After each attempt so much more of it."""
        left = list(seconds)

        def pass_on() -> None:
            self.now += left.pop(0)

        worker.between = pass_on


def test_a_topic_that_stays_unknown_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the first word: a coordinator may not have heard of a new topic yet."""
    worker = ScriptedWorker(*[took(a=Code.UNKNOWN_TOPIC_ID)] * 3, member=owner())
    Clock(monkeypatch).passes(worker, 0.0, 0.2, 0.2)
    with pytest.raises(TopicGoneError, match=r"^UNKNOWN_TOPIC_ID for orders-0\."):
        commit(worker, A)
    assert len(worker.asked) == 3


def test_nothing_is_committed_for_a_topic_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch of offsets of several topics returns those of the others."""
    unknown = OffsetsFetched({A: Offset(7)}, {FOREIGN: Code.UNKNOWN_TOPIC_ID})
    worker = ScriptedWorker(unknown, replace(unknown, offsets={}), member=owner())
    Clock(monkeypatch).passes(worker, 0.0, 0.5)
    assert fetch(worker, A, FOREIGN) == {A: Offset(7), FOREIGN: None}
    assert len(worker.asked) == 2


def test_offsets_that_are_not_stable_yet_are_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction may be open for minutes: taken for nothing, all records would be read once more."""
    unstable = OffsetsFetched({}, {A: Code.UNSTABLE_OFFSET_COMMIT})
    worker = ScriptedWorker(unstable, unstable, OffsetsFetched({A: Offset(7)}, {}), member=owner())
    Clock(monkeypatch).passes(worker, 0.0, 10.0, 0.0)
    assert fetch(worker, A) == {A: Offset(7)}
    assert len(worker.asked) == 3


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "fetch"])
def test_a_topic_that_was_known_meanwhile_is_not_gone(monkeypatch: pytest.MonkeyPatch, commits: bool) -> None:
    """Another broker became the coordinator, and has not heard of it yet: the time counts from its own first word."""
    unknown = took(a=Code.UNKNOWN_TOPIC_ID) if commits else OffsetsFetched({}, {A: Code.UNKNOWN_TOPIC_ID})
    known = took(a=0) if commits else OffsetsFetched({A: Offset(7)}, {})
    worker = ScriptedWorker(unknown, known, unknown, known, member=owner())
    Clock(monkeypatch).passes(worker, 0.0, 10.0, 0.0, 0.0)
    offsets = MemberOffsets(worker, OwnershipNumbers())
    for _ in range(2):
        if commits:
            offsets.commit({A: Offset(7)}, {A: 0}, PATIENCE_S)
        else:
            assert offsets.committed(frozenset({A}), PATIENCE_S) == {A: Offset(7)}
    assert len(worker.asked) == 4
