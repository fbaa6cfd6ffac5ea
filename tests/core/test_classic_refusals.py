"""What a coordinator refuses a member that wants into a classic group, and what never comes back from it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from membership_client.core import policy, reasons
from membership_client.core.assignors.registry import register_assignor
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackKind,
    ClassicHeartbeat,
    DescribeClassicGroup,
    DescribeTopics,
    GroupDescribed,
    JoinGroup,
    MemberIdGiven,
    MembershipDoubted,
    Refused,
    Response,
    SyncGroup,
    TopicsDescribed,
)
from membership_client.errors import ProblemKind
from membership_client.subscriptions import Assignment, MemberSubscription, TopicLayout
from membership_client.types import MemberState, TopicPartition
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted

S = MemberState

AT_JOIN = {
    policy.Reaction.RETRY: S.JOINING,
    policy.Reaction.REDISCOVER: S.JOINING,
    policy.Reaction.REBALANCE: S.JOINING,
    policy.Reaction.FENCE: S.JOINING,
    policy.Reaction.FENCE_UNKNOWN: S.JOINING,
    policy.Reaction.SUPERSEDED: S.FENCED,
    policy.Reaction.MISMATCH: S.JOINING,
    policy.Reaction.NO_GROUP: S.FATAL,
    policy.Reaction.FULL: S.FATAL,
    policy.Reaction.FATAL: S.FATAL,
}
"""A fence of a member that owns nothing is followed by a new join at once."""


@pytest.mark.parametrize("code", policy.JOIN)
def test_each_code_at_a_join(code: Code) -> None:
    """The table is complete, and each row does what it says."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, Refused(code))
    assert play.member.state is AT_JOIN[policy.JOIN[code]]


@pytest.mark.parametrize("code", [*policy.SYNC, 9999])
def test_each_code_at_a_sync(code: Code) -> None:
    """Whatever is repeated begins with a join, since the group may have moved on."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    play.answer(SyncGroup, Refused(code))
    assert play.member.classic.admission is None
    expected = AT_JOIN | {policy.Reaction.NO_GROUP: S.JOINING}
    assert play.member.state is expected[policy.SYNC.get(code, policy.Reaction.FATAL)]


@pytest.mark.parametrize("code", [*policy.CLASSIC_HEARTBEAT, 9999])
def test_each_code_at_a_heartbeat(code: Code) -> None:
    """A member keeps its place, rebalances, loses everything, or ends."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(code))
    fences = {
        policy.Reaction.FENCE,
        policy.Reaction.FENCE_UNKNOWN,
        policy.Reaction.NO_GROUP,
        policy.Reaction.SUPERSEDED,
    }
    action = policy.CLASSIC_HEARTBEAT.get(code, policy.Reaction.FATAL)
    if action in fences:
        assert play.member.state is S.FENCED
        assert play.callbacks()[-1].kind is CallbackKind.LOST
    elif action is policy.Reaction.REBALANCE:
        assert play.member.state is S.RECONCILING
    else:
        assert play.member.state is (S.FATAL if action is policy.Reaction.FATAL else S.STABLE)


def test_an_unknown_member_joins_as_nobody() -> None:
    """An id that the coordinator forgot is forgotten here too; after a generation that is over it is kept."""
    for code, member_id in ((Code.UNKNOWN_MEMBER_ID, ""), (Code.ILLEGAL_GENERATION, "given")):
        play = ClassicPlay.new().stable(0)
        play.advance(BEAT_S)
        play.answer(ClassicHeartbeat, Refused(code))
        play.let_callbacks_return()
        assert (play.join_request().member_id, play.join_request().reason) == (
            member_id,
            f"coordinator error {code.name}",
        )


def test_a_full_group_turns_a_member_away_that_it_had() -> None:
    """The limit was lowered under a running group: what the member kept is lost, and then it ends."""
    play = ClassicPlay.cooperative().stable(0).rebalanced()
    play.answer(JoinGroup, Refused(Code.GROUP_MAX_SIZE_REACHED))
    assert play.callbacks()[-1].kind is CallbackKind.LOST
    play.let_callbacks_return()
    play.answer(JoinGroup, Refused(Code.GROUP_MAX_SIZE_REACHED))
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.GROUP_FULL)


@pytest.mark.parametrize("theirs", ["roundrobin", ""])
def test_strategies_that_do_not_match_are_named(theirs: str) -> None:
    """Those of both sides, as far as the coordinator tells."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
    play.answer(DescribeClassicGroup, GroupDescribed((), assignor=theirs))
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind) == (S.FATAL, ProblemKind.NO_COMMON_STRATEGY)
    assert "range" in problem.detail
    assert theirs in problem.detail


def test_a_group_that_rebalances_is_asked_again_what_it_assigns_by() -> None:
    """It has no strategy at that moment; the member said that the group assigns by none, and gave up."""
    play = ClassicPlay.new()
    play.joining()
    for answer in (GroupDescribed((), state="PreparingRebalance"), GroupDescribed((), "Stable", assignor="roundrobin")):
        play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
        play.answer(DescribeClassicGroup, answer)
        play.advance(0.2)
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind) == (S.FATAL, ProblemKind.NO_COMMON_STRATEGY)
    assert "assigns by roundrobin" in problem.detail


def test_a_group_that_only_rebalances_is_not_asked_for_ever() -> None:
    """After some seconds the member ends without knowing."""
    play = ClassicPlay.new()
    play.joining()
    while play.member.state is S.JOINING:
        play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
        play.answer(DescribeClassicGroup, GroupDescribed((), state="CompletingRebalance"))
        play.advance(3.0)
    assert play.member.problem is not None
    assert "assigns by none of these" in play.member.problem.detail


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Refused(Code.INCONSISTENT_GROUP_PROTOCOL, "it is a group of connect"), "it is a group of connect."),
        (Refused(Code.GROUP_ID_NOT_FOUND, "Group g is not a classic group."), "Group g is not a classic group."),
        (Refused(Code.GROUP_ID_NOT_FOUND), "Group g is not a classic group."),
        (GroupDescribed((), state="Dead"), "Group g is not a classic group."),
    ],
)
def test_a_group_of_another_kind_is_no_matter_of_strategies(answer: Response, told: str) -> None:
    """The group is of Kafka Connect, or of KIP-848 on a broker that admits no classic member to it."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
    play.answer(DescribeClassicGroup, answer)
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind, problem.detail) == (S.FATAL, ProblemKind.GROUP_TYPE, told)


def test_strategies_that_do_not_match_are_fatal_also_if_the_others_cannot_be_asked() -> None:
    """The question is a courtesy."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
    play.fail(DescribeClassicGroup)
    assert play.member.state is S.FATAL


def _planning_by(strategy: str) -> ClassicPlay:
    """A leader that has all it needs for a plan."""
    play = ClassicPlay.new(partition_assignment_strategy=strategy)
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True, strategy=strategy))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    return play


def test_an_assignor_that_raises_ends_the_leader() -> None:
    """With an error of its own kind, and not with the thread."""
    play = _planning_by("nobody-has-this")
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.ASSIGNOR_FAILED)


def _bills_for_all(members: Sequence[MemberSubscription], _topics: object) -> Assignment:
    return {member.member_id: [TopicPartition("bills", 0)] for member in members}


def test_a_plan_with_a_flaw_is_not_sent() -> None:
    """An own assignor that forgets a rule ends its member with a sentence about it, before any partition is assigned."""
    register_assignor("flawed", _bills_for_all)
    play = _planning_by("flawed")
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.ASSIGNOR_FAILED)
    assert "did not subscribe" in play.member.problem.detail
    assert not any(isinstance(send.request, SyncGroup) for send in play.sends())


def _orders_one_by_one(members: Sequence[MemberSubscription], _topics: object) -> Assignment:
    return {member.member_id: (TopicPartition("orders", number) for number in (0,)) for member in members}  # type: ignore[misc]


def test_a_share_may_be_a_generator() -> None:
    """Looking for flaws used it up: the leader sent an empty plan, and no member had any partition, without a word."""
    register_assignor("one-by-one", _orders_one_by_one)
    (sync,) = [send.request for send in _planning_by("one-by-one").sends() if isinstance(send.request, SyncGroup)]
    assert list(sync.plan.values()) == [(TopicPartition("orders", 0),)]


# --- what does not come back -----------------------------------------------------------------------------------------


def test_a_join_may_take_as_long_as_the_slowest_member() -> None:
    """The coordinator holds it back until all have joined, so its time is up after the rebalance timeout."""
    play = ClassicPlay.new(max_poll_interval_ms=60_000)
    play.joining()
    play.advance(64.0)
    assert play.member.dialogue is not None
    play.advance(2.0)
    assert play.member.dialogue is None


def test_a_join_without_an_answer_is_repeated_under_the_same_id_for_the_same_reason() -> None:
    """The coordinator may have let us in: under another id it would wait for a member that never comes."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.fail(JoinGroup)
    play.advance(0.2)
    play.find_coordinator()
    assert (play.join_request().member_id, play.join_request().reason) == ("given", reasons.SUBSCRIBED)


def test_an_answer_to_an_earlier_join_is_ignored() -> None:
    """Also a refusal by which the member would be fenced: it is about a former member id."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    earlier = play.open(JoinGroup).request_id
    play.fail(JoinGroup)
    play.advance(0.2)
    play.find_coordinator()
    before = play.member
    for code in (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.FENCED_INSTANCE_ID):
        assert play.do(Answered(earlier, Refused(code))) == []
    assert play.member is before


def test_a_sync_without_an_answer_is_followed_by_a_join_under_the_same_id() -> None:
    """The id survives a broken connection, and the reason says what happened."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    play.fail(SyncGroup)
    play.advance(0.2)
    play.find_coordinator()
    assert (play.join_request().member_id, play.join_request().reason) == ("given", reasons.NO_ANSWER)


def test_a_doubted_membership_is_asked_about_at_once() -> None:
    """After a commit that was refused as of no member, the member once kept its partitions until the next heartbeat."""
    play = ClassicPlay.new().stable(0)
    play.do(MembershipDoubted())
    play.answer(ClassicHeartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
    assert play.callbacks()[-1].kind is CallbackKind.LOST
