"""Situations of classic groups that the suites of Kafka's client and librdkafka taught us to look at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from membership_client.core import reasons
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackKind,
    ClassicHeartbeat,
    DescribeClassicGroup,
    DescribeTopics,
    FailureKind,
    GroupDescribed,
    GroupSynced,
    JoinGroup,
    LeaveGroup,
    MemberDescription,
    MemberIdGiven,
    Polled,
    Rebalance,
    Refused,
    Subscribe,
    SyncGroup,
    TopicsDescribed,
)
from membership_client.errors import ProblemKind
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import MemberState
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, share

S = MemberState


def test_a_reason_is_carried_over_a_failure_and_forgotten_with_the_plan() -> None:
    """Until the group has rebalanced for it, it is why; the next rebalance has a reason of its own."""
    play = ClassicPlay.new().stable(0)
    play.do(Rebalance(reason="new weights"))
    play.let_callbacks_return()
    play.fail(JoinGroup)
    play.advance(0.2)
    play.find_coordinator()
    assert play.join_request().reason == "new weights"
    play.let_in(0, generation=2)
    play.let_callbacks_return()
    play.rebalanced().let_callbacks_return()
    assert play.join_request().reason == reasons.REBALANCING


@pytest.mark.parametrize("code", [Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.FENCED_INSTANCE_ID])
def test_an_answer_to_an_earlier_sync_is_ignored(code: Code) -> None:
    """A join has followed it, and the answer speaks of a generation that is over."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    earlier = play.open(SyncGroup).request_id
    play.fail(SyncGroup)
    play.advance(0.2)
    play.find_coordinator()
    before = play.member
    assert play.do(Answered(earlier, Refused(code))) == []
    assert play.member is before
    assert play.join_request().member_id == "given"


def test_a_coordinator_that_loads_is_asked_again_for_the_share() -> None:
    """What it knew of the plan is not lost by that, and neither is our id."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    play.answer(SyncGroup, Refused(Code.COORDINATOR_LOAD_IN_PROGRESS))
    play.advance(1.0)
    assert (play.join_request().member_id, play.join_request().reason) == (
        "given",
        f"{reasons.COORDINATOR_ERROR} COORDINATOR_LOAD_IN_PROGRESS",
    )


def test_credentials_that_are_refused_end_a_member() -> None:
    """Kafka's client asks for a rejoin and fails again; here the error is told, and the partitions are lost."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.fail(ClassicHeartbeat, FailureKind.AUTHENTICATION)
    assert play.callbacks()[-1].kind is CallbackKind.LOST
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.AUTHENTICATION)


def test_a_static_leader_that_came_back_watches_the_topics_of_others() -> None:
    """It makes no plan, and is told of the members for this: no other member sees their topics grow."""
    play = ClassicPlay.new(group_instance_id="i", metadata_max_age_ms=2000)
    play.joining()
    other = MemberSubscription(member_id="other", topics=frozenset({"bills"}))
    came_back = admitted(7, leads=True, skip=True)
    play.answer(JoinGroup, replace(came_back, members=(*came_back.members, other)))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1), "bills": TopicLayout(1)}))
    held = (("given", share(0)), ("other", share(0, topic="bills")))
    members = (
        MemberDescription(member_id=who, instance_id=None, client_id="", host="", current=of) for who, of in held
    )
    play.answer(DescribeClassicGroup, GroupDescribed(tuple(members), state="Stable"))
    assert play.member.state is S.STABLE
    play.stays(2.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1), "bills": TopicLayout(2)}))
    play.let_callbacks_return()
    assert play.join_request().reason == reasons.TOPICS_CHANGED


def test_a_static_member_that_does_not_poll_loses_its_partitions_and_keeps_its_place() -> None:
    """As in Kafka's client no request is sent; it takes its own place when it polls again."""
    play = ClassicPlay.new(group_instance_id="i", max_poll_interval_ms=2_000).stable(0)
    play.do(Polled(play.now))
    play.advance(2.0)
    assert (play.member.state, play.callbacks()[-1].kind) == (S.STALE, CallbackKind.LOST)
    play.let_callbacks_return()
    play.do(Polled(play.now))
    assert (play.join_request().instance_id, play.join_request().reason) == ("i", reasons.POLLS_AGAIN)
    assert not any(isinstance(send.request, LeaveGroup) for send in play.sends())


def test_what_was_wished_first_is_what_the_group_is_told() -> None:
    """A coordinator that has begun to rebalance meanwhile does not know why better than the application."""
    play = ClassicPlay.new().stable(0)
    play.do(Rebalance(reason="new weights"))
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    play.rebalanced().let_callbacks_return()
    assert play.join_request().reason == "new weights"


def test_a_strategy_that_was_not_offered_is_not_obeyed() -> None:
    """A broker that errs so is named as the cause, before anything is taken of its plan."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(strategy="sticky"))
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.NO_COMMON_STRATEGY)
    assert "sticky" in play.member.problem.detail


def test_a_storm_of_subscriptions_ends_with_the_last_one() -> None:
    """However fast they change, one join is in flight, and the group ends with what was asked for last."""
    play = ClassicPlay.cooperative().stable(0)
    for number in range(50):
        play.do(Subscribe(frozenset({"orders", f"topic-{number}"})))
        assert len([send for send in play.open_sends() if isinstance(send.request, JoinGroup)]) <= 1
        if number % 7 == 0:
            play.let_in(0, generation=number + 2)
            play.let_callbacks_return()
    joins = [send.request for send in play.sends() if isinstance(send.request, JoinGroup)]
    assert len(joins) < 20
    assert joins[-1].topics == {"orders", "topic-49"}
    play.let_in(0, generation=60)
    assert (play.member.state, play.member.classic.rejoin) == (S.STABLE, None)
