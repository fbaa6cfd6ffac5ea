"""What each answer of a coordinator means for a commit and for a fetch of offsets; the answers are scripted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from membership_client import NotOwnedError, Offset, OffsetAccessError, OffsetError, TopicPartition
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CoordinatorDoubted,
    MembershipDoubted,
    OffsetsCommitted,
    OffsetsFetched,
    Refused,
    Response,
    Tick,
)
from membership_client.core.machine import Step
from membership_client.partitions import NOTHING
from membership_client.runtime.offsets import VERDICTS, MemberOffsets, Verdict
from membership_client.runtime.ownership import OwnershipNumbers
from tests.core.play import BROKER, Play
from tests.unit.scripted_worker import ScriptedWorker

PLACE = TopicPartition("orders", 0)
PATIENCE_S = 30.0
UNLISTED = 4711

OUTCOMES: dict[int, type[OffsetError] | None] = {
    Code.COORDINATOR_LOAD_IN_PROGRESS: None,
    Code.REQUEST_TIMED_OUT: None,
    Code.UNKNOWN_TOPIC_OR_PARTITION: None,
    Code.UNSTABLE_OFFSET_COMMIT: None,
    Code.STALE_MEMBER_EPOCH: None,
    Code.REBALANCE_IN_PROGRESS: None,
    Code.ILLEGAL_GENERATION: None,
    Code.THROTTLING_QUOTA_EXCEEDED: None,
    Code.NOT_COORDINATOR: None,
    Code.COORDINATOR_NOT_AVAILABLE: None,
    # A coordinator that has not heard of a topic yet says the same as one that knows it to be gone.
    Code.UNKNOWN_TOPIC_ID: None,
    Code.UNKNOWN_MEMBER_ID: NotOwnedError,
    Code.FENCED_INSTANCE_ID: NotOwnedError,
    Code.FENCED_MEMBER_EPOCH: NotOwnedError,
    Code.GROUP_ID_NOT_FOUND: NotOwnedError,
    Code.GROUP_AUTHORIZATION_FAILED: OffsetAccessError,
    Code.TOPIC_AUTHORIZATION_FAILED: OffsetAccessError,
    UNLISTED: OffsetError,
}
"""The error that a code is raised as; None if it is asked again, and all is well then."""


def committed(code: int) -> Response:
    return OffsetsCommitted({PLACE: code})


def fetched(code: int) -> Response:
    return OffsetsFetched({}, {PLACE: code}) if code else OffsetsFetched({PLACE: Offset(7)}, {})


def refused(code: int) -> Response:
    return Refused(code)


def commit(offsets: MemberOffsets) -> None:
    offsets.commit({PLACE: Offset(7)}, offsets.ownership.of([PLACE], lambda _: True), PATIENCE_S)


def fetch(offsets: MemberOffsets) -> None:
    assert offsets.committed(frozenset({PLACE}), PATIENCE_S) == {PLACE: Offset(7)}


Answering = Callable[[int], Response]
Calling = Callable[[MemberOffsets], None]

CALLS = pytest.mark.parametrize(
    ("call", "refuse", "accept"),
    [
        (commit, committed, committed),
        (commit, refused, committed),
        (fetch, fetched, fetched),
        (fetch, refused, fetched),
    ],
    ids=["commit of a partition", "commit as a whole", "fetch of a partition", "fetch as a whole"],
)


@CALLS
def test_a_stale_epoch_is_followed_by_the_newest(call: Calling, refuse: Answering, accept: Answering) -> None:
    """The group moved on while the request was under way: the member still owns the partition, and asks again."""
    worker = ScriptedWorker(refuse(Code.STALE_MEMBER_EPOCH), accept(Code.NONE))
    call(MemberOffsets(worker, OwnershipNumbers()))
    assert [request.epoch for request in worker.asked] == [2, 3]


def test_a_commit_is_not_repeated_under_a_later_ownership() -> None:
    """The partition was another member's between the two attempts: it used to be set back behind its commits."""
    worker = ScriptedWorker(committed(Code.STALE_MEMBER_EPOCH), committed(Code.NONE))
    offsets = MemberOffsets(worker, OwnershipNumbers())
    owner, nobody = worker.member, replace(worker.member, owned=NOTHING)

    def lose_and_regain() -> None:
        offsets.ownership.on_step(Step(0.0, owner, Tick(), (), nobody))
        offsets.ownership.on_step(Step(0.0, nobody, Tick(), (), owner))

    worker.between = lose_and_regain
    with pytest.raises(NotOwnedError):
        commit(offsets)
    assert len(worker.asked) == 1


@CALLS
@pytest.mark.parametrize("code", OUTCOMES)
def test_each_code_is_asked_again_or_raised(call: Calling, refuse: Answering, accept: Answering, code: int) -> None:
    """The table is complete, and each row does what it says, for commits and for fetches alike."""
    worker, error = ScriptedWorker(refuse(code), accept(Code.NONE)), OUTCOMES[code]
    if error is None:
        call(MemberOffsets(worker, OwnershipNumbers()))
        assert len(worker.asked) == 2
    else:
        with pytest.raises(OffsetError) as caught:
            call(MemberOffsets(worker, OwnershipNumbers()))
        assert type(caught.value) is error
        assert len(worker.asked) == 1


@pytest.mark.parametrize("code", [Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE])
def test_a_broker_that_is_not_the_coordinator_is_doubted(code: int) -> None:
    """The member looks for the right one at once, and need not be refused a heartbeat first."""
    worker = ScriptedWorker(committed(code), committed(Code.NONE))
    commit(MemberOffsets(worker, OwnershipNumbers()))
    assert worker.posted == [CoordinatorDoubted(BROKER)]


@CALLS
@pytest.mark.parametrize("code", [code for code, verdict in VERDICTS.items() if verdict is Verdict.GONE])
def test_a_refusal_as_no_member_doubts_the_membership(
    call: Calling, refuse: Answering, accept: Answering, code: int
) -> None:
    """The application once went on reading until the next heartbeat, what the new owner read as well."""
    worker = ScriptedWorker(refuse(code))
    with pytest.raises(NotOwnedError):
        call(MemberOffsets(worker, OwnershipNumbers()))
    assert worker.posted == [MembershipDoubted()]


def test_the_gravest_of_several_codes_decides() -> None:
    """What is over stays over, however willing the coordinator is to take the rest later."""
    other = TopicPartition("orders", 1)
    worker = ScriptedWorker(OffsetsCommitted({PLACE: Code.STALE_MEMBER_EPOCH, other: Code.UNKNOWN_MEMBER_ID}))
    worker.member = Play.new().stable(0, 1).member
    with pytest.raises(NotOwnedError):
        MemberOffsets(worker, OwnershipNumbers()).commit(
            {PLACE: Offset(7), other: Offset(8)}, {PLACE: 0, other: 0}, PATIENCE_S
        )


def test_the_table_of_outcomes_is_complete() -> None:
    """A new verdict needs an expectation here."""
    assert OUTCOMES.keys() == VERDICTS.keys() | {UNLISTED}
