"""The leader of a classic group at awkward moments: what it looks at, when, and which rebalances it does not cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from membership_client.core import reasons
from membership_client.core.assignors.registry import register_assignor
from membership_client.core.classic.group_leader import resubscribed
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    CoordinatorDoubted,
    DescribeClassicGroup,
    DescribeTopics,
    FindCoordinator,
    GroupDescribed,
    GroupLeft,
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
    Unsubscribe,
)
from membership_client.core.member import Member
from membership_client.subscriptions import Assignment, MemberSubscription, TopicLayout
from membership_client.types import MemberState, TopicPartition
from tests.core.classic_play import BEAT_S, REBALANCE_IN_PROGRESS, ClassicPlay, admitted, share
from tests.core.play import BROKER, config

S = MemberState
COOPERATIVE = "cooperative-sticky"
MAX_AGE_S = 300.0


def topics(partitions: int = 2) -> TopicsDescribed:
    return TopicsDescribed({"orders": TopicLayout(partitions)})


def looks(play: ClassicPlay) -> list[DescribeTopics]:
    return [send.request for send in play.sends() if isinstance(send.request, DescribeTopics)]


def described(current: frozenset[TopicPartition]) -> GroupDescribed:
    member = MemberDescription(member_id="given", instance_id="i", client_id="c", host="h", current=current)
    return GroupDescribed((member,), state="Stable")


def comes_back(**overrides: object) -> ClassicPlay:
    """A static leader whose plan stands, and which knows its share of it."""
    play = ClassicPlay.cooperative(group_instance_id="i", **overrides)
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True, strategy=COOPERATIVE))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    return play


def left_something_out() -> ClassicPlay:
    """A leader whose plan leaves out one of two partitions, because another member must give it back first."""
    play = ClassicPlay.cooperative().leading({"orders": TopicLayout(2)}).rebalanced()
    alone = admitted(2, leads=True, strategy=COOPERATIVE)
    another = MemberSubscription(member_id="another", topics=frozenset({"orders"}))
    held = replace(alone.members[0], owned=share(0, 1), generation=1)
    play.answer(JoinGroup, replace(alone, members=(held, another)))
    play.answer(DescribeTopics, topics())
    return play


# --- looking at topics -----------------------------------------------------------------------------------------------


def test_a_follower_looks_at_its_own_topics_only() -> None:
    """It must learn whether they were replaced; the topics of others are the leader's matter."""
    play = ClassicPlay.new()
    play.joining("orders", "bills")
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    play.answer(SyncGroup, GroupSynced(share(0)))
    assert looks(play) == [DescribeTopics(topics=frozenset({"orders"}))]


def test_a_pattern_is_not_matched_again_in_each_rebalance() -> None:
    """A follower has seen the topics; it looks again when they are old, and not whenever a member comes or goes."""
    play = ClassicPlay.new()
    play.do(Subscribe(regex="o.*"))
    play.find_coordinator()
    play.answer(DescribeTopics, topics())
    play.let_in()
    play.let_callbacks_return()
    play.effects.clear()
    play.rebalanced()
    play.answer(JoinGroup, admitted(2))
    play.answer(SyncGroup, GroupSynced(frozenset()))
    play.let_callbacks_return()
    assert (play.member.state, looks(play)) == (S.STABLE, [])


def test_a_follower_that_becomes_the_leader_of_a_plan_that_stands_looks_at_once() -> None:
    """No other member watches the topics from now on, and they may have changed since this one looked at its own."""
    play = ClassicPlay.new(group_instance_id="i").stable(0, topic_id=UUID(int=1)).rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2, leads=True, skip=True))
    play.answer(SyncGroup, GroupSynced(frozenset()))
    assert looks(play) == [DescribeTopics(topics=frozenset({"orders"}))]


def test_a_topic_that_grew_before_the_plan_was_made_needs_no_second_rebalance() -> None:
    """The plan is for the topics as they are, whatever an earlier plan was for."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)}).rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2, leads=True))
    play.answer(DescribeTopics, topics(3))
    play.answer(SyncGroup, GroupSynced(frozenset(play.sync_request().plan["given"])))
    play.let_callbacks_return()
    assert (play.member.state, len(play.callbacks()[-1].partitions)) == (S.STABLE, 3)


def test_a_topic_that_is_seen_to_grow_during_a_rebalance_needs_no_second_one() -> None:
    """The answer to an earlier look came while the group was joining: the plan that follows is for the grown topic."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)}).stays(MAX_AGE_S)
    if play.member.dialogue is None:
        play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    play.returns()
    play.answer(DescribeTopics, topics(3))
    play.answer(JoinGroup, admitted(2, leads=True))
    play.answer(DescribeTopics, topics(3))
    play.answer(SyncGroup, GroupSynced(frozenset(play.sync_request().plan["given"])))
    play.let_callbacks_return()
    assert (play.member.state, len(play.callbacks()[-1].partitions)) == (S.STABLE, 3)


def test_a_replaced_topic_of_other_members_rebalances_the_group() -> None:
    """The leader has nothing of it, and no rack; the ids alone tell that it is another topic."""
    old, new = UUID(int=1), UUID(int=2)
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    another = MemberSubscription(member_id="another", topics=frozenset({"bills"}))
    alone = admitted(leads=True)
    play.answer(JoinGroup, replace(alone, members=(*alone.members, another)))
    seen = {"orders": TopicLayout(1), "bills": TopicLayout(1, topic_id=old)}
    play.answer(DescribeTopics, TopicsDescribed(seen))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.stays(MAX_AGE_S)
    play.answer(DescribeTopics, TopicsDescribed(seen | {"bills": TopicLayout(1, topic_id=new)}))
    play.let_callbacks_return()
    assert play.join_request().reason == reasons.TOPICS_CHANGED


def test_an_enforced_rebalance_is_not_forgotten_when_the_topics_are_seen() -> None:
    """It waits for the assigned callback, and the topics are looked at meanwhile."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.do(Rebalance(reason="new weights"))
    play.answer(DescribeTopics, topics())
    play.let_callbacks_return()
    assert play.join_request().reason == "new weights"


def test_topics_that_are_seen_by_a_leaving_member_change_nothing() -> None:
    """It has no subscription any more that they could match."""
    play = ClassicPlay.new().stable(0, topic_id=UUID(int=1)).stays(MAX_AGE_S)
    assert play.open(DescribeTopics).to == BROKER
    play.do(Unsubscribe())
    play.answer(DescribeTopics, topics())
    assert (play.member.state, play.member.survey) == (S.LEAVING, None)


@pytest.mark.parametrize("kind", ["topics", "plan"])
def test_without_a_coordinator_a_leader_looks_at_nothing(kind: str) -> None:
    """Topics and plan are asked for once the coordinator is found."""
    play = comes_back()
    if kind == "plan":
        play.answer(DescribeTopics, topics(1))
        play.do(CoordinatorDoubted(BROKER))
        play.fail(DescribeClassicGroup)
    else:
        play.do(CoordinatorDoubted(BROKER))
        play.fail(DescribeTopics)
    play.advance(2.0)
    assert [type(send.request) for send in play.open_sends()] == [FindCoordinator]
    play.find_coordinator()
    assert play.open(DescribeClassicGroup if kind == "plan" else DescribeTopics).to == BROKER


def test_a_leader_that_is_out_of_the_group_watches_nothing() -> None:
    """It does not poll, so others lead; neither the topics nor the plan that it made are asked for."""
    play = left_something_out()
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    play.do(Polled(play.now + 1.0 - play.member.poll_interval_s))
    play.advance(1.0)
    play.let_callbacks_return()
    play.answer(LeaveGroup, GroupLeft())
    assert (play.member.state, play.member.coordinator) == (S.STALE, BROKER)
    play.effects.clear()
    play.advance(2 * MAX_AGE_S)
    asked = {type(send.request) for send in play.sends()}
    assert not asked & {DescribeTopics, DescribeClassicGroup}


# --- comparing a plan with the topics --------------------------------------------------------------------------------


def test_a_plan_that_left_something_out_is_compared_after_a_session() -> None:
    """Before that the owner that must give it back may still be on its way."""
    play = left_something_out()
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    play.stays(play.member.session_timeout_s - BEAT_S)
    assert not any(isinstance(send.request, DescribeClassicGroup) for send in play.sends())
    play.stays(BEAT_S)
    assert play.open(DescribeClassicGroup).to == BROKER


def test_a_plan_that_has_not_come_yet_is_not_compared() -> None:
    """The coordinator takes longer than a session to answer the leader's sync."""
    play = left_something_out()
    play.waits(2 * play.member.session_timeout_s)
    assert play.open(SyncGroup).to == BROKER
    assert not any(isinstance(send.request, DescribeClassicGroup) for send in play.sends())


def test_a_comparison_with_an_earlier_plan_says_nothing_of_the_next() -> None:
    """The group rebalanced meanwhile, and its leader is about to make another plan."""
    play = comes_back()
    play.answer(DescribeTopics, topics())
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    play.answer(JoinGroup, admitted(8, leads=True, strategy=COOPERATIVE))
    play.answer(DescribeClassicGroup, described(share(0)))
    play.answer(DescribeTopics, topics())
    play.answer(SyncGroup, GroupSynced(frozenset(play.sync_request().plan["given"])))
    play.let_callbacks_return()
    assert play.member.state is S.STABLE


def test_an_enforced_rebalance_is_not_forgotten_when_the_plan_is_compared() -> None:
    """It waits for the assigned callback, and the plan turns out to be up to date meanwhile."""
    play = ClassicPlay.cooperative(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True, strategy=COOPERATIVE))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.answer(DescribeTopics, topics(1))
    play.do(Rebalance(reason="new weights"))
    play.answer(DescribeClassicGroup, described(share(0)))
    play.let_callbacks_return()
    assert play.join_request().reason == "new weights"


def test_a_coordinator_that_will_not_describe_the_group_is_not_asked_again() -> None:
    """An operator may forbid it; the leader does without."""
    play = comes_back()
    play.answer(DescribeTopics, topics())
    play.answer(DescribeClassicGroup, Refused(Code.GROUP_AUTHORIZATION_FAILED))
    play.effects.clear()
    play.stays(60.0)
    assert not any(isinstance(send.request, DescribeClassicGroup) for send in play.sends())


def test_a_leader_that_comes_back_to_topics_that_are_gone_has_an_empty_plan() -> None:
    """There is nothing to give out, and nothing was given out."""
    play = ClassicPlay.cooperative(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True, strategy=COOPERATIVE))
    play.answer(SyncGroup, GroupSynced(frozenset()))
    play.let_callbacks_return()
    play.answer(DescribeTopics, TopicsDescribed({}))
    play.answer(DescribeClassicGroup, described(frozenset()))
    assert play.member.state is S.STABLE


def test_a_plan_of_an_own_assignor_is_never_compared() -> None:
    """It may leave out what it likes: a standby has nothing."""
    register_assignor("idle", _nothing_for_all)
    play = ClassicPlay.new(partition_assignment_strategy="idle").leading({"orders": TopicLayout(2)})
    play.stays(2 * play.member.session_timeout_s)
    assert not any(isinstance(send.request, DescribeClassicGroup) for send in play.sends())


def _nothing_for_all(members: Sequence[MemberSubscription], _topics: object) -> Assignment:
    return {member.member_id: [] for member in members}


def test_only_the_first_pattern_makes_a_member_look_again() -> None:
    """What names have asked for is enough for other names, and what a pattern has asked for is everything."""
    member = Member(config=config(), member_id="m")
    member = replace(member, classic=replace(member.classic, layouts={}))
    by_pattern = replace(member, subscription=Subscribe(regex="o.*"))
    assert resubscribed(member, Subscribe(topics=frozenset({"bills"}))) is member
    assert resubscribed(by_pattern, Subscribe(regex="b.*")) is by_pattern
    assert resubscribed(member, Subscribe(regex="b.*")).classic.layouts is None
