"""The member id of a classic member: when the coordinator knows it, and what is said under it."""

from __future__ import annotations

import pytest

from membership_client.core import reasons
from membership_client.core.classic.protocol import topic_id
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackKind,
    ClassicHeartbeat,
    Close,
    CoordinatorDoubted,
    DescribeTopics,
    GroupJoined,
    GroupSynced,
    Heartbeat,
    HeartbeatConfirmed,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Polled,
    Rebalance,
    Refused,
    SyncGroup,
    TopicsDescribed,
    Unsubscribe,
)
from membership_client.core.view import snapshot_of
from membership_client.subscriptions import TopicLayout
from membership_client.types import MemberState
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, share
from tests.core.play import BROKER, INTERVAL_S, Play, accepted

S = MemberState


def leave_of(play: ClassicPlay) -> LeaveGroup:
    request = play.open(LeaveGroup).request
    assert isinstance(request, LeaveGroup)
    return request


def test_a_member_that_has_an_id_and_has_not_joined_with_it_leaves_with_it() -> None:
    """The coordinator keeps a place for the id that it gave, so a close during its throttle gives the place back."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"), throttle_s=5.0)
    play.do(Close(timeout_s=10.0))
    play.advance(5.0)
    assert leave_of(play).member_id == "given"


def test_a_member_that_waits_for_room_under_its_id_leaves_with_it() -> None:
    """A full group does not know the member; the join that follows makes it known again, also before its answer."""
    play = ClassicPlay.new(**{"retry.when.full.s": 10.0})
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, Refused(Code.GROUP_MAX_SIZE_REACHED))
    play.advance(10.0)
    assert play.join_request().member_id == "given"
    play.do(Close(timeout_s=10.0))
    assert leave_of(play).member_id == "given"


def test_a_broker_may_let_a_member_in_at_its_first_join() -> None:
    """Such a broker gives the id with the answer; heartbeats and the leave request are sent under it."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, admitted(member_id="from-join"))
    assert play.sync_request().member_id == "from-join"
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.advance(BEAT_S)
    beat = play.open(ClassicHeartbeat).request
    assert isinstance(beat, ClassicHeartbeat)
    assert beat.member_id == "from-join"
    play.do(Unsubscribe())
    play.returns()
    assert leave_of(play).member_id == "from-join"


def test_a_join_answer_without_a_generation_is_not_waited_for_again() -> None:
    """The member joins again after a backoff: its request has been answered, and no other answer will come."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, admitted(-1))
    play.effects.clear()
    play.advance(1.0)
    assert [type(send.request) for send in play.sends()] == [JoinGroup]


def test_an_answered_join_is_a_sign_of_life() -> None:
    """The snapshot tells the age of what the coordinator last confirmed, also while the plan is still to come."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    assert snapshot_of(play.member, play.now).heartbeat_age_s is None
    play.advance(2.0)
    play.answer(JoinGroup, admitted())
    assert snapshot_of(play.member, play.now + 1.0).heartbeat_age_s == 1.0


def test_a_member_that_was_passed_over_joins_again_under_its_id() -> None:
    """The coordinator knows it: under a new id its old place would hold up the next rebalance."""
    play = ClassicPlay.cooperative().stable(0, epoch=5).rebalanced()
    play.waits(play.member.poll_interval_s)
    play.answer(JoinGroup, admitted(7, strategy="cooperative-sticky"))
    assert play.callbacks()[-1].kind is CallbackKind.LOST
    play.returns()
    assert play.join_request().member_id == "given"


def test_the_rebalance_timeout_passes_a_member_over_to_the_moment() -> None:
    """The coordinator may complete the rebalance without the member at this moment, so the member must assume it."""
    play = ClassicPlay.cooperative().stable(0, epoch=5).stays(BEAT_S)
    assert play.member.classic.calm_at == play.now
    end = play.now + play.member.poll_interval_s
    play.rebalanced().waits(end - play.now)
    assert play.now == end
    play.answer(JoinGroup, admitted(7, strategy="cooperative-sticky"))
    assert play.callbacks()[-1].kind is CallbackKind.LOST


def test_an_answer_about_topics_that_is_older_than_the_plan_is_not_used() -> None:
    """Another topic may have the name since the question: the ids are looked up again, and only the new answer counts."""
    old, new = topic_id("as it was"), topic_id("as it is")
    play = ClassicPlay.new().stable(0, topic_id=old)
    play.stays(play.member.config.metadata_max_age_ms / 1000)
    asked_before = play.open(DescribeTopics)
    play.rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2))
    play.answer(SyncGroup, GroupSynced(share(0)))
    assert play.open(DescribeTopics).request_id != asked_before.request_id
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(6, topic_id=new)}))
    assert play.member.classic.topic_ids == {"orders": new}


def test_a_leaving_member_tells_the_coordinator_though_its_session_may_be_over() -> None:
    """Its heartbeats were not answered while the revoked callback ran; a coordinator that knows it learns that it goes."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable(0)
    play.do(Unsubscribe())
    play.advance(30.0)
    play.returns()
    play.find_coordinator()
    assert leave_of(play).member_id == "given"


def test_a_member_that_ended_does_not_end_a_second_time_with_its_session() -> None:
    """It is FATAL for good, whatever the clock says."""
    play = ClassicPlay.new(session_timeout_ms=20_000).stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.GROUP_AUTHORIZATION_FAILED))
    play.returns()
    assert play.advance(60.0) == []
    assert play.member.state is S.FATAL


def test_without_a_coordinator_no_heartbeat_is_sent() -> None:
    """The next one goes to the broker that is found, once it is found."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.fail(ClassicHeartbeat)
    assert play.advance(BEAT_S) == []
    play.find_coordinator()
    play.answer(ClassicHeartbeat, HeartbeatConfirmed())
    assert play.member.state is S.STABLE


def test_a_generation_without_a_member_id_is_no_answer() -> None:
    """The member could say nothing under it, so it joins again."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, GroupJoined(generation=1, member_id="", leader_id="x", strategy="range", members=()))
    play.advance(1.0)
    assert (play.member.state, play.join_request().member_id) == (S.JOINING, "")


def test_a_joiner_that_left_by_its_poll_interval_has_no_epoch() -> None:
    """Its join is answered while the new coordinator is looked for; the generation is one without this member."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.do(CoordinatorDoubted(BROKER))
    play.do(Polled(play.now + 1.0 - play.member.poll_interval_s))
    play.advance(1.0)
    assert play.member.state is S.STALE
    play.answer(JoinGroup, admitted())
    assert (play.member.state, play.member.epoch) == (S.STALE, 0)


def test_a_member_that_falls_back_sends_no_leave_request_before_it_has_an_id() -> None:
    """The coordinator of a classic group knows members by ids that it gave itself."""
    play = Play.new()
    play.joining()
    play.answer(Heartbeat, Refused(Code.UNSUPPORTED_VERSION))
    play.do(Close(timeout_s=5.0))
    assert play.member.closed is not None
    assert not any(isinstance(send.request, LeaveGroup) for send in play.sends())


def test_a_member_that_falls_back_expects_no_more_than_its_plan() -> None:
    """Under KIP-848 it had been told to wait; a classic plan is whole, so the callback is not provisional."""
    play = ClassicPlay.new(group_protocol="auto")
    play.joining()
    play.answer(Heartbeat, accepted(0))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(Code.UNSUPPORTED_VERSION))
    play.let_in(0)
    assert not play.callbacks()[-1].provisional


def test_a_first_join_that_is_fenced_says_what_the_coordinator_said() -> None:
    """No session of this member has ended: it has never had one."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, Refused(Code.UNKNOWN_MEMBER_ID))
    assert play.join_request().reason == f"{reasons.COORDINATOR_ERROR} UNKNOWN_MEMBER_ID"


def test_a_second_join_may_bring_another_id() -> None:
    """The one that came last is the one to use."""
    play = ClassicPlay.new().stable(0).rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2, member_id="given-anew"))
    play.answer(SyncGroup, GroupSynced(share(0)))
    play.let_callbacks_return()
    play.advance(BEAT_S)
    beat = play.open(ClassicHeartbeat).request
    assert isinstance(beat, ClassicHeartbeat)
    assert beat.member_id == "given-anew"


@pytest.mark.parametrize("synced", [True, False])
def test_a_member_that_leaves_has_nothing_left_of_the_rebalance(synced: bool) -> None:
    """Neither the plan that it waited for, nor the rebalance that it wanted."""
    play = ClassicPlay.new().stable(0).rebalanced()
    play.returns()
    play.answer(JoinGroup, admitted(2))
    play.do(Rebalance(reason="new weights"))
    if synced:
        play.answer(SyncGroup, GroupSynced(share(0)))
    play.do(Unsubscribe())
    assert (play.member.state, play.member.classic.admission, play.member.classic.rejoin) == (S.LEAVING, None, None)


def test_a_strategy_without_an_assignor_ends_the_leader_and_is_named() -> None:
    """The process that offered it has not registered it."""
    play = ClassicPlay.new(partition_assignment_strategy="unheard-of")
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted(leads=True, strategy="unheard-of"))
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.member.problem is not None
    assert play.member.problem.detail == "The assignor 'unheard-of' raised KeyError."
