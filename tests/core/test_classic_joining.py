"""How a member gets into a classic group: JoinGroup, SyncGroup, and what may come between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from membership_client.core import policy, reasons
from membership_client.core.assigning import register_assignor
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackKind,
    ClassicHeartbeat,
    DescribeClassicGroup,
    DescribedMember,
    DescribeTopics,
    FailureKind,
    FindCoordinator,
    GroupDescribed,
    GroupSynced,
    Heartbeat,
    JoinGroup,
    MemberIdGiven,
    Refused,
    Response,
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
    """The coordinator gives an id first, so that a lost answer leaves no member behind that nobody knows."""
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


def test_a_leader_looks_at_the_topics_and_sends_the_plan() -> None:
    """It assigns to everybody, itself included, and takes its share from the answer like all others."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True))
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
    member = DescribedMember(member_id="given", instance_id="i", client_id="c", host="h", current=current)
    return GroupDescribed((member,), state=state)


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
    """Found by simulation: a topic that grew while the static leader was away was owned by nobody for ever."""
    play = ClassicPlay.cooperative(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True, strategy="cooperative-sticky"))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
    play.answer(DescribeClassicGroup, answer)
    assert play.member.state is (S.JOINING if rejoins else S.STABLE)
    assert not rejoins or play.join_request().reason == reasons.OUT_OF_DATE


def test_a_leader_that_came_back_asks_again_when_the_coordinator_has_moved() -> None:
    """Found by simulation: it took "not me" for an answer, and a topic was owned by nobody for ever."""
    play = ClassicPlay.cooperative(group_instance_id="i")
    play.joining()
    play.answer(JoinGroup, admitted(7, leads=True, skip=True, strategy="cooperative-sticky"))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(2)}))
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
    """Brokers before 3.2 name that one, so that it makes no plan: then nobody watched the topics."""
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


# --- what a coordinator may refuse -----------------------------------------------------------------------------------

AT_JOIN = {
    policy.Action.RETRY: S.JOINING,
    policy.Action.REDISCOVER: S.JOINING,
    policy.Action.REBALANCE: S.JOINING,
    policy.Action.FENCE: S.JOINING,
    policy.Action.FENCE_UNKNOWN: S.JOINING,
    policy.Action.SUPERSEDED: S.FENCED,
    policy.Action.MISMATCH: S.JOINING,
    policy.Action.NO_GROUP: S.FATAL,
    policy.Action.FULL: S.FATAL,
    policy.Action.FATAL: S.FATAL,
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
    expected = AT_JOIN | {policy.Action.NO_GROUP: S.JOINING}
    assert play.member.state is expected[policy.SYNC.get(code, policy.Action.FATAL)]


@pytest.mark.parametrize("code", [*policy.CLASSIC_HEARTBEAT, 9999])
def test_each_code_at_a_heartbeat(code: Code) -> None:
    """A member keeps its place, rebalances, loses everything, or ends."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(code))
    fences = {policy.Action.FENCE, policy.Action.FENCE_UNKNOWN, policy.Action.NO_GROUP, policy.Action.SUPERSEDED}
    action = policy.CLASSIC_HEARTBEAT.get(code, policy.Action.FATAL)
    if action in fences:
        assert play.member.state is S.FENCED
        assert play.callbacks()[-1].kind is CallbackKind.LOST
    elif action is policy.Action.REBALANCE:
        assert play.member.state is S.RECONCILING
    else:
        assert play.member.state is (S.FATAL if action is policy.Action.FATAL else S.STABLE)


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
    """Of Kafka Connect, or of KIP-848 where the broker lets nobody in who speaks the classic protocol."""
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


def test_an_assignor_that_raises_ends_the_leader() -> None:
    """With an error of its own kind, and not with the thread."""
    play = ClassicPlay.new(partition_assignment_strategy="nobody-has-this")
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True, strategy="nobody-has-this"))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.ASSIGNOR_FAILED)


def _bills_for_all(members: Sequence[MemberSubscription], _topics: object) -> Assignment:
    return {member.member_id: [TopicPartition("bills", 0)] for member in members}


def test_a_plan_with_a_flaw_is_not_sent() -> None:
    """An own assignor that forgets a rule ends its member with a sentence about it, before anybody is given anything."""
    register_assignor("flawed", _bills_for_all)
    play = ClassicPlay.new(partition_assignment_strategy="flawed")
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True, strategy="flawed"))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.ASSIGNOR_FAILED)
    assert "did not subscribe" in play.member.problem.detail
    assert not any(isinstance(send.request, SyncGroup) for send in play.sends())


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
    """The coordinator may have let us in: under another id it would wait for somebody who never comes."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.fail(JoinGroup)
    play.advance(0.2)
    play.find_coordinator()
    assert (play.join_request().member_id, play.join_request().reason) == ("given", reasons.SUBSCRIBED)


def test_an_answer_to_an_earlier_join_is_ignored() -> None:
    """Also one that would throw us out: it is about somebody we no longer are."""
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
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True))
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
