"""Rebalances of a classic group that are asked for at awkward moments: each is carried out, and none twice."""

from __future__ import annotations

import pytest

from membership_client.core import reasons
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackKind,
    ClassicHeartbeat,
    DescribeClassicGroup,
    DescribeTopics,
    GroupSynced,
    JoinGroup,
    MemberIdGiven,
    Rebalance,
    Refused,
    Subscribe,
    SyncGroup,
    TopicsDescribed,
)
from membership_client.errors import ProblemKind
from membership_client.subscriptions import TopicLayout
from membership_client.types import MemberState
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, owned, share

S = MemberState


def test_a_rebalance_that_is_asked_for_during_a_join_follows_it() -> None:
    """The application asked after the group had begun, so the plan that comes may not know what it asked for."""
    play = ClassicPlay.new().stable(0).rebalanced()
    play.returns()
    play.do(Rebalance(reason="new weights"))
    play.let_in(0, generation=2)
    assert (play.member.state, play.join_request().reason) == (S.JOINING, "new weights")


def test_an_empty_share_is_announced_though_the_plan_before_it_was_skipped() -> None:
    """A rebalance was asked for during the first join: no callback ran for its plan, so one runs for the next."""
    play = ClassicPlay.cooperative()
    play.joining()
    play.do(Rebalance(reason="new weights"))
    play.let_in()
    assert (play.member.state, play.callbacks()) == (S.JOINING, [])
    play.let_in(generation=2)
    assert [(call.kind, call.partitions) for call in play.callbacks()] == [(CallbackKind.ASSIGNED, ())]


def test_a_rebalance_that_is_asked_for_while_partitions_are_taken_away_is_the_next_join() -> None:
    """A cooperative member joins again anyway once it has given them back; one join is enough."""
    play = ClassicPlay.cooperative().stable(0, 1).rebalanced()
    play.let_in(0, generation=2)
    play.do(Rebalance(reason="new weights"))
    play.returns()
    assert play.join_request().reason == "new weights"
    play.let_in(0, generation=3)
    assert (play.member.state, play.member.owned) == (S.STABLE, owned(0))


def test_a_rebalance_that_is_asked_for_during_the_join_after_a_revoke_follows_it() -> None:
    """That join is under way and says why it was made; what the application asked for is said by one of its own."""
    play = ClassicPlay.cooperative().stable(0, 1).rebalanced()
    play.let_in(0, generation=2)
    play.returns()
    play.do(Rebalance(reason="new weights"))
    assert (play.member.state, play.join_request().reason) == (S.ACK, reasons.REVOKED)
    play.let_in(0, generation=3)
    assert (play.member.state, play.join_request().reason) == (S.JOINING, "new weights")


def test_a_subscription_that_is_taken_back_during_the_revoke_still_joins() -> None:
    """The partitions are given back by then: without a join the member would stay without them."""
    play = ClassicPlay.cooperative()
    play.joining("orders", "bills")
    play.let_in(0)
    play.let_callbacks_return()
    play.do(Subscribe(frozenset({"bills"})))
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    play.do(Subscribe(frozenset({"orders", "bills"})))
    play.returns()
    assert play.join_request().topics == {"orders", "bills"}


@pytest.mark.parametrize("looked", [True, False])
def test_a_pattern_instead_of_names_is_matched_against_all_topics(looked: bool) -> None:
    """Only the subscribed topics had been looked at: the member joined without topics, and read nothing for five minutes."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    play.answer(SyncGroup, GroupSynced(share(0)))
    if looked:
        play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    play.do(Subscribe(regex="b.*"))
    play.returns()
    assert (play.member.state, play.open(DescribeTopics).request) == (S.STABLE, DescribeTopics(topics=None))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1), "bills": TopicLayout(1)}))
    play.let_callbacks_return()
    assert play.join_request().topics == {"bills"}


def test_a_fenced_member_that_subscribes_to_other_topics_keeps_to_its_backoff() -> None:
    """Two fences in a row make it wait, whatever the application does meanwhile."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
    play.returns()
    play.answer(JoinGroup, Refused(Code.UNKNOWN_MEMBER_ID))
    assert play.member.state is S.FENCED
    play.do(Subscribe(frozenset({"bills"})))
    assert play.member.state is S.FENCED
    play.advance(1.0)
    assert play.join_request().topics == {"bills"}


def test_a_problem_of_its_own_survives_a_plan_that_can_be_read() -> None:
    """Only the problem of a plan that could not be read is over with the next plan."""
    play = ClassicPlay.new(callback_errors="continue").stable(0).rebalanced()
    play.returns("ValueError: no")
    play.answer(JoinGroup, admitted(2))
    play.answer(SyncGroup, GroupSynced(share(0)))
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.CALLBACK_FAILED


def test_a_group_that_may_not_be_described_is_not_taken_for_one_of_another_kind() -> None:
    """The refusal says nothing about the group; what is known is that no strategy is common."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
    play.answer(DescribeClassicGroup, Refused(Code.GROUP_AUTHORIZATION_FAILED))
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.NO_COMMON_STRATEGY
