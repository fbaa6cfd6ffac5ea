"""How a member gets into a classic group: JoinGroup, SyncGroup, and what may come between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from membership_client.core import reasons
from membership_client.core.assignors.registry import register_assignor
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackKind,
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    DescribeTopics,
    FailureKind,
    FindCoordinator,
    GroupDescribed,
    GroupSynced,
    Heartbeat,
    JoinGroup,
    MemberDescription,
    MemberIdGiven,
    Refused,
    Response,
    SessionTimeoutDescribed,
    Subscribe,
    SyncGroup,
    TopicsDescribed,
)
from membership_client.core.view import snapshot_of
from membership_client.errors import ProblemKind
from membership_client.subscriptions import Assignment, MemberSubscription, TopicLayout
from membership_client.types import GroupProtocol, MemberState, TopicPartition
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, owned, share
from tests.core.play import Play, accepted, orders

S = MemberState


def test_a_first_join_is_asked_for_twice() -> None:
    """The coordinator gives an id first, so that a lost answer leaves no unknown member behind."""
    play = ClassicPlay.new()
    play.joining()
    assert play.join_request().member_id == ""
    play.answer(JoinGroup, MemberIdGiven("given"))
    assert play.join_request().member_id == "given"
    assert play.member.state is S.JOINING


def test_a_join_says_everything() -> None:
    """Timeouts, strategies, topics, rack and reason."""
    play = ClassicPlay.new(
        client_rack="r1",
        session_timeout_ms=20_000,
        max_poll_interval_ms=60_000,
        partition_assignment_strategy="sticky,range",
    )
    play.joining("orders", "bills")
    assert play.join_request() == JoinGroup(
        group_id="g",
        member_id="",
        instance_id=None,
        session_timeout_s=20.0,
        rebalance_timeout_s=60.0,
        strategies=("sticky", "range"),
        topics=frozenset({"orders", "bills"}),
        rack="r1",
        reason="subscribed by the application",
    )


def test_a_follower_asks_for_its_share_and_takes_it() -> None:
    """Join, sync, callback, stable: the share of the plan is the target, and there is nothing to acknowledge."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(4))
    sync = play.sync_request()
    assert (sync.member_id, sync.generation, sync.strategy, sync.plan) == ("given", 4, "range", {})
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    assert play.member.state is S.RECONCILING
    play.returns()
    assert (play.member.state, play.member.epoch, play.member.owned) == (S.STABLE, 4, owned(0, 1))
    assert play.callbacks()[-1].partitions == tuple(sorted(share(0, 1)))


def test_an_empty_share_is_announced() -> None:
    """Every join ends in an assigned callback."""
    play = ClassicPlay.new()
    play.joining()
    play.let_in()
    assert [(call.kind, call.partitions) for call in play.callbacks()] == [(CallbackKind.ASSIGNED, ())]
    play.returns()
    assert play.member.state is S.STABLE


def new_leader() -> ClassicPlay:
    """A member that was let in as the leader, and is to make the plan."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True))
    return play


def test_a_leader_looks_at_the_topics_and_sends_the_plan() -> None:
    """It assigns to all members, itself included, and takes its share from the answer like all others."""
    play = new_leader()
    asked = play.open(DescribeTopics).request
    assert asked == DescribeTopics(topics=frozenset({"orders"}))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(3)}))
    assert play.sync_request().plan == {"given": tuple(sorted(share(0, 1, 2)))}


def test_a_leader_that_is_told_to_skip_the_plan_sends_none() -> None:
    """A static leader came back and the group did not rebalance: its old plan stands, and it watches the topics again."""
    play = ClassicPlay.new(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True))
    assert play.sync_request().plan == {}
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    assert play.member.state is S.STABLE
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    play.answer(DescribeClassicGroup, described(share(0)))
    play.stays(290.0)
    assert play.member.survey is None
    play.stays(15.0)
    assert play.member.survey is not None


def described(current: frozenset[TopicPartition], state: str = "Stable") -> GroupDescribed:
    member = MemberDescription(member_id="given", instance_id="i", client_id="c", host="h", current=current)
    return GroupDescribed((member,), state=state)


def leader_that_came_back() -> ClassicPlay:
    """A static leader whose plan stands, and which has looked at the topics: there is one partition more."""
    play = ClassicPlay.cooperative(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True, strategy="cooperative-sticky"))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    return play


@pytest.mark.parametrize(
    ("answer", "rejoins"),
    [
        (described(share(0, 1)), False),
        (described(share(0)), True),
        (described(share(0, 1, 2)), True),
        (described(frozenset(), "PreparingRebalance"), False),
        (Refused(Code.GROUP_AUTHORIZATION_FAILED), False),
    ],
)
def test_a_leader_that_came_back_compares_its_plan_with_the_topics(answer: Response, rejoins: bool) -> None:
    """Found by simulation: a topic that grew while the static leader was away never had an owner."""
    play = leader_that_came_back()
    play.answer(DescribeClassicGroup, answer)
    assert play.member.state is (S.JOINING if rejoins else S.STABLE)
    assert not rejoins or play.join_request().reason == reasons.OUT_OF_DATE


def test_a_leader_that_came_back_asks_again_when_the_coordinator_has_moved() -> None:
    """Found by simulation: it took the old id for another leader, and a topic never had an owner."""
    play = leader_that_came_back()
    play.answer(DescribeClassicGroup, Refused(Code.NOT_COORDINATOR))
    play.advance(1.0)
    play.answer(DescribeClassicGroup, described(share(0)))
    assert play.join_request().reason == reasons.OUT_OF_DATE


def static_leader_of_an_old_broker(leader_id: str) -> ClassicPlay:
    play = ClassicPlay.new(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, replace(admitted(7), leader_id=leader_id))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    return play


def test_a_static_leader_is_known_by_its_old_id() -> None:
    """Brokers before 3.2 name that one, so that it makes no plan: then no member watched the topics."""
    play = static_leader_of_an_old_broker(f"i-{UUID(int=1)}")
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    play.answer(DescribeClassicGroup, described(share(0, 1) | share(0, topic="of another")))
    assert (play.member.state, play.plans()) == (S.STABLE, [{}])
    play.stays(300.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(3)}))
    play.let_callbacks_return()
    assert play.join_request().reason == reasons.TOPICS_CHANGED


@pytest.mark.parametrize("leader_id", [f"i-1-{UUID(int=1)}", f"another-{UUID(int=1)}", "i", ""])
def test_a_static_follower_is_not_taken_for_the_leader(leader_id: str) -> None:
    """Also where the leader's instance id begins with its own."""
    play = static_leader_of_an_old_broker(leader_id)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    assert (play.member.survey, play.member.classic.leads) == (None, False)


def test_an_own_assignor_may_leave_out_what_it_likes_also_when_its_leader_comes_back() -> None:
    """Each restart of that leader cost a rebalance, as if its plan were out of date."""
    register_assignor("frugal", _nothing_for_all)
    play = ClassicPlay.new(group_instance_id="i", partition_assignment_strategy="frugal")
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True, strategy="frugal"))
    play.answer(SyncGroup, GroupSynced(frozenset()))
    play.let_callbacks_return()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    assert (play.member.state, play.member.survey) == (S.STABLE, None)


def _nothing_for_all(members: Sequence[MemberSubscription], _topics: object) -> Assignment:
    return {member.member_id: [] for member in members}


def test_a_share_of_topics_that_were_not_asked_for_is_not_taken() -> None:
    """A plan older than our subscription is mended by one more join, and a leader that errs twice is not asked again."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    play.answer(SyncGroup, GroupSynced(share(0) | share(0, topic="bills")))
    assert play.join_request().reason == reasons.MISFIT
    play.answer(JoinGroup, admitted(2))
    play.answer(SyncGroup, GroupSynced(share(0) | share(0, topic="bills")))
    play.let_callbacks_return()
    assert (play.member.state, play.member.owned) == (S.STABLE, owned(0))


def test_members_that_a_leader_errs_about_do_not_take_turns_in_joining() -> None:
    """Each told the other that the group rebalances, and took the same misfit after that for a new one, for ever."""
    play = ClassicPlay.new(group_instance_id="i").stable(0)
    misfit = GroupSynced(share(0) | share(0, topic="bills"))
    for generation, reason in ((2, reasons.REBALANCING), (3, reasons.MISFIT)):
        if reason == reasons.REBALANCING:
            play.rebalanced()
        play.let_callbacks_return()
        assert play.join_request().reason == reason
        play.answer(JoinGroup, admitted(generation))
        play.answer(SyncGroup, misfit)
    play.let_callbacks_return()
    play.rebalanced()
    play.let_callbacks_return()
    play.answer(JoinGroup, admitted(4))
    play.answer(SyncGroup, misfit)
    play.let_callbacks_return()
    assert (play.member.state, play.member.owned) == (S.STABLE, owned(0))


def test_a_misfit_counts_anew_for_another_subscription() -> None:
    """What one leader made of the last one says nothing of this one."""
    play = ClassicPlay.new().stable(0)
    misfit = GroupSynced(share(0, topic="bills"))
    for topics in ({"more"}, {"even", "more"}):
        play.do(Subscribe(frozenset(topics)))
        play.let_callbacks_return()
        assert play.join_request().reason == reasons.SUBSCRIPTION_CHANGED
        for _ in range(2):
            play.answer(JoinGroup, admitted(play.member.epoch + 1))
            play.answer(SyncGroup, misfit)
        play.let_callbacks_return()
        assert play.member.state is S.STABLE


def test_a_share_that_cannot_be_read_is_none() -> None:
    """The leader's client is at fault, not the broker: the member stays, owns nothing, and says who; a good plan heals it."""
    play = ClassicPlay.new().stable(0).rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2))
    play.answer(SyncGroup, GroupSynced(frozenset(), readable=False))
    play.let_callbacks_return()
    play.stays(BEAT_S)
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind) == (S.STABLE, ProblemKind.UNREADABLE_ASSIGNMENT)
    assert "leader another assigns by 'range'" in problem.detail
    play.answer_check()
    play.rebalanced()
    play.let_in(0, generation=3)
    play.returns()
    assert (play.member.problem, play.member.owned) == (None, owned(0))


def test_a_pattern_is_matched_here() -> None:
    """Brokers of the classic protocol match none: all topics are looked at before the first join."""
    play = ClassicPlay.new()
    play.do(Subscribe(regex="o.*|b"))
    play.find_coordinator()
    assert play.open(DescribeTopics).request == DescribeTopics(topics=None)
    layouts = {name: TopicLayout(1) for name in ("orders", "bills", "b", "no")}
    play.answer(DescribeTopics, TopicsDescribed(layouts))
    assert play.join_request().topics == {"orders", "b"}


def test_a_pattern_after_names_looks_at_all_topics() -> None:
    """It used to match the topics that were known for the names only, until they were looked at again minutes later."""
    play = ClassicPlay.new()
    play.do(Subscribe(topics=frozenset({"orders"})))
    play.find_coordinator()
    play.let_in(0)
    play.let_callbacks_return()
    play.do(Subscribe(regex="o.*|b"))
    assert play.open(DescribeTopics).request == DescribeTopics(topics=None)
    play.answer(DescribeTopics, TopicsDescribed({name: TopicLayout(1) for name in ("orders", "b", "no")}))
    play.let_callbacks_return()
    assert play.join_request().topics == {"orders", "b"}


def test_a_new_topic_that_matches_the_pattern_rebalances() -> None:
    """It is found when the topics are next looked at."""
    play = ClassicPlay.new(metadata_max_age_ms=1000)
    play.do(Subscribe(regex="o.*"))
    play.find_coordinator()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    play.let_in(0)
    play.let_callbacks_return()
    play.advance(1.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1), "others": TopicLayout(1)}))
    play.let_callbacks_return()
    assert (play.join_request().topics, play.join_request().reason) == ({"orders", "others"}, "subscription changed")


def test_a_pattern_that_is_none_is_fatal() -> None:
    """With an error that says so."""
    play = ClassicPlay.new()
    play.do(Subscribe(regex="(("))
    play.find_coordinator()
    play.answer(DescribeTopics, TopicsDescribed({}))
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.INVALID_REGEX)


# --- which protocol --------------------------------------------------------------------------------------------------


def test_auto_takes_kip_848_where_it_is() -> None:
    """And says so once it knows."""
    play = Play.new()
    play.joining()
    assert snapshot_of(play.member, play.now).protocol is None
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert snapshot_of(play.member, play.now).protocol is GroupProtocol.CONSUMER


@pytest.mark.parametrize("says_so_itself", [True, False])
def test_auto_falls_back_where_the_brokers_do_not_have_it(says_so_itself: bool) -> None:
    """They lack the request, or have it and were told not to use it."""
    play = Play.new()
    play.joining()
    if says_so_itself:
        play.answer(Heartbeat, Refused(Code.UNSUPPORTED_VERSION))
    else:
        play.fail(Heartbeat, FailureKind.UNSUPPORTED)
    assert isinstance(play.open(JoinGroup).request, JoinGroup)
    assert snapshot_of(play.member, play.now).protocol is GroupProtocol.CLASSIC
    assert play.member.interval_s == BEAT_S


def test_auto_falls_back_in_a_group_that_cannot_be_upgraded() -> None:
    """The bug: FATAL beside classic members whose assignor has data of its own, as cooperative-sticky of librdkafka."""
    play = Play.new()
    play.joining()
    play.answer(Heartbeat, Refused(Code.GROUP_ID_NOT_FOUND, "Cannot upgrade classic group g to consumer group."))
    assert isinstance(play.open(JoinGroup).request, JoinGroup)
    assert snapshot_of(play.member, play.now).protocol is GroupProtocol.CLASSIC


def test_auto_falls_back_also_while_it_waits_for_its_instance_id() -> None:
    """The group moved to a coordinator without KIP-848; the member waited for the id for ever, and joined nothing."""
    play = Play.new(group_instance_id="i")
    play.joining()
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID))
    play.answer(DescribeGroup, GroupDescribed(()))
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(45.0))
    play.answer(Heartbeat, Refused(Code.UNSUPPORTED_VERSION))
    assert isinstance(play.open(JoinGroup).request, JoinGroup)
    assert play.member.id_conflict is None


@pytest.mark.parametrize("joins_again", [True, False])
def test_auto_that_has_settled_does_not_fall_back(joins_again: bool) -> None:
    """A member of a KIP-848 group whose broker is downgraded ends, instead of joining a group of another kind in silence."""
    play = Play.new()
    play.stable(0)
    play.advance(5.0)
    if joins_again:
        play.answer(Heartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
        play.let_callbacks_return()
    play.answer(Heartbeat, Refused(Code.UNSUPPORTED_VERSION))
    assert play.member.state is S.FATAL


def test_a_broker_without_the_classic_protocol_is_told_of() -> None:
    """A static member needs versions that know instance ids."""
    play = ClassicPlay.new(group_instance_id="i")
    play.joining()
    play.fail(JoinGroup, FailureKind.UNSUPPORTED)
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.BROKER_TOO_OLD)


def test_a_broker_that_cannot_describe_topics_is_told_of() -> None:
    """The leader waited for ever for what it cannot ask, and said nothing."""
    play = new_leader()
    play.fail(DescribeTopics, FailureKind.UNSUPPORTED)
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.BROKER_TOO_OLD)


def test_the_snapshot_shows_the_id_that_the_coordinator_gave() -> None:
    """It is what an operator finds in the broker's log."""
    play = ClassicPlay.new()
    play.do(Subscribe(frozenset({"orders"})))
    assert snapshot_of(play.member, play.now).member_id == "me"
    play.find_coordinator()
    play.let_in(0)
    assert snapshot_of(play.member, play.now).member_id == "given"
    assert not any(isinstance(send.request, FindCoordinator) for send in play.open_sends())


def test_a_follower_does_not_look_at_topics_for_a_plan_that_another_makes() -> None:
    """Thousands of followers would ask for the metadata of every topic in each rebalance."""
    play = ClassicPlay.new().joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    assert play.member.survey is None


def test_a_leader_that_came_back_does_without_a_description_that_the_broker_does_not_have() -> None:
    """It only cannot compare its plan with the topics; ending the member for that would cost the group its leader."""
    play = leader_that_came_back()
    play.fail(DescribeClassicGroup, FailureKind.UNSUPPORTED)
    assert play.member.state is S.STABLE


def test_a_leader_looks_at_the_topics_once_for_a_plan() -> None:
    """Asked for again beside the sync, the answer would be about topics that the plan does not know."""
    play = new_leader()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    assert play.sync_request().plan["given"] == (TopicPartition("orders", 0), TopicPartition("orders", 1))
    assert play.member.survey is None


def test_what_failed_under_kip_848_does_not_slow_down_the_classic_join() -> None:
    """Another protocol is another start: its first failure is repeated as soon as any first failure."""
    play = Play.new(group_protocol="auto").joining()
    for _ in range(4):
        play.answer(Heartbeat, Refused(Code.COORDINATOR_LOAD_IN_PROGRESS))
        play.advance(5.0)
    play.fail(Heartbeat, FailureKind.UNSUPPORTED)
    play.fail(JoinGroup)
    play.find_coordinator()
    play.advance(0.15)
    assert isinstance(play.open(JoinGroup).request, JoinGroup)
