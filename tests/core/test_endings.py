"""What a member that ends or starts over keeps, and what it forgets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from membership_client.core.backoff import FRESH
from membership_client.core.events import (
    Answered,
    CallbackKind,
    Close,
    CoordinatorDoubted,
    DescribeTopics,
    FailureKind,
    FindCoordinator,
    GroupLeft,
    GroupSynced,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Polled,
    Rebalance,
    Refused,
    ResolveTopics,
    Stop,
    Subscribe,
    SyncGroup,
    TopicsDescribed,
    TopicsResolved,
    Unsubscribe,
)
from membership_client.core.fencing import fatal
from membership_client.core.machine import deadline
from membership_client.core.member import InFlight, move
from membership_client.errors import Problem, ProblemKind
from membership_client.partitions import Partitions
from membership_client.subscriptions import TopicLayout
from membership_client.types import CauseKind, CloseStep, LeaveMode, MemberState
from membership_client.values import replace
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, in_classic_state, share
from tests.core.play import BILLS, BROKER, INTERVAL_S, NAMES, ORDERS, Play, accepted, in_state, orders

S = MemberState
IN_GROUP = (S.JOINING, S.RECONCILING, S.ACK, S.STABLE)
WAYS: list[Callable[[MemberState], Play]] = [in_state, in_classic_state]


@pytest.mark.parametrize("state", IN_GROUP)
@pytest.mark.parametrize("way", WAYS)
def test_a_member_that_ended_waits_for_nothing(way: Callable[[MemberState], Play], state: MemberState) -> None:
    """A request that was still in its slot would time out later, and close a connection that others use."""
    member = way(state).member
    flight = InFlight(request_id=7, request=FindCoordinator(group_id="g"), to=BROKER, sent_at=0.0)
    busy = replace(
        member, dialogue=flight, lookup=flight, naming=flight, survey=flight, checking=flight, owed_gap_s=1.0
    )
    ended, _ = fatal(busy, Problem(kind=ProblemKind.UNEXPECTED, detail="over."))
    flights = (ended.dialogue, ended.lookup, ended.naming, ended.survey, ended.checking)
    assert flights == (None,) * 5
    assert (ended.subscription, ended.target, ended.accepted, ended.id_conflict, ended.owed_gap_s) == (None,) * 5
    assert ended.enrolled == member.enrolled
    assert (ended.classic.given_id, ended.classic.layouts) == (member.classic.given_id, None)
    assert ended.cause is not None
    assert (ended.cause.kind, ended.cause.detail) == (CauseKind.FATAL, "over.")


def test_a_member_that_ended_tells_a_running_callback_and_sleeps_once_that_has_returned() -> None:
    """No deadline is left: its thread would wake up for nothing, for ever."""
    play = Play.new().stable(0).told(orders(0, 1))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(30))
    play.let_callbacks_return()
    assert play.callbacks()[-1].kind is CallbackKind.LOST
    assert not play.member.owned
    assert deadline(play.member) is None


def test_a_classic_member_that_ended_still_gives_up_its_place_under_the_id_it_was_given() -> None:
    """Without the id the coordinator would count on it until its session ends."""
    play = ClassicPlay.new().stable(0)
    play.advance(BEAT_S)
    play.do(Answered(play.open_sends()[0].request_id, Refused(30)))
    play.let_callbacks_return()
    assert play.member.state is S.FATAL
    play.do(Close(timeout_s=5.0))
    request = play.open(LeaveGroup).request
    assert isinstance(request, LeaveGroup)
    assert request.member_id == "given"


def test_a_closed_member_waits_for_no_answer() -> None:
    """Names and coordinators that were asked for are of no use to it."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    assert play.open(ResolveTopics) is not None
    play.do(Close(timeout_s=5.0))
    play.let_callbacks_return()
    (leave,) = (send for send in play.open_sends() if isinstance(send.request, Heartbeat | LeaveGroup))
    effects = play.do(Answered(leave.request_id, GroupLeft()))
    assert Stop() in effects
    assert (play.member.departure, deadline(play.member)) == (None, None)
    assert play.answer(ResolveTopics, TopicsResolved(NAMES)) == []


def test_a_new_start_after_a_leave_states_everything_as_a_stranger() -> None:
    """What the coordinator knew of the member left with it."""
    play = Play.new().stable(0)
    play.do(Unsubscribe())
    play.let_callbacks_return()
    play.do(Subscribe(frozenset({"bills"})))
    leave = play.open_sends()[-1]
    play.do(Answered(leave.request_id, GroupLeft()))
    member = play.member
    assert (member.state, member.epoch, member.stated, member.target, dict(member.names)) == (
        S.JOINING,
        0,
        None,
        None,
        {},
    )
    assert (member.greeted, member.owed_gap_s, member.denied_until, member.accepted) == (False, None, None, None)
    beat = play.heartbeat()
    assert (beat.epoch, beat.topics) == (0, ("bills",))


@pytest.mark.parametrize("fences", [1, 2, 3, 4])
def test_each_fence_in_a_row_waits_longer(fences: int) -> None:
    """The first one joins again at once; two sides that throw each other out must not do so at line speed."""
    play, wait_s = Play.new().joining(), 0.0
    for _ in range(fences):
        play.answer(Heartbeat, accepted(1))
        play.name_topics()
        play.let_callbacks_return()
        if play.member.dialogue is None:
            play.advance(INTERVAL_S)
        play.answer(Heartbeat, Refused(25))
        wait_s = play.member.dialogue_backoff.not_before - play.now
        assert (play.member.dialogue is None) == (wait_s > 0)
        play.advance(max(wait_s, 0.0))
    base_s = play.member.config.retry_backoff_ms / 1000
    if fences == 1:
        assert wait_s <= 0
    else:
        assert 0.7 * base_s * 2 ** (fences - 2) <= wait_s <= 1.3 * base_s * 2 ** (fences - 2)


@pytest.mark.parametrize("code", [25, 110])
def test_a_fence_while_leaving_needs_no_leave_request(code: int) -> None:
    """The coordinator does not know the member any more: a leave request would be refused."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=30.0))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(code))
    assert not play.member.enrolled
    sent = len(play.sends())
    play.let_callbacks_return()
    assert len(play.sends()) == sent
    assert play.member.closed is not None


def test_a_rebalance_that_the_application_wants_says_everything_once_more() -> None:
    """Under KIP-848 that is all a member can do."""
    play = Play.new().stable(0)
    play.do(Rebalance())
    beat = play.heartbeat()
    assert (beat.topics, beat.owned) == (("orders",), orders(0))


def test_a_doubt_without_a_coordinator_changes_nothing() -> None:
    """Found out by two at once."""
    play = Play.new()
    before = play.member
    play.do(CoordinatorDoubted(BROKER))
    assert play.member == before


@pytest.mark.parametrize("state", [S.FENCED, S.STALE])
def test_a_close_of_a_member_that_is_out_gives_back_and_ends(state: MemberState) -> None:
    """It has partitions whose loss is still being told."""
    play = in_state(state)
    play.do(Close(timeout_s=5.0))
    assert play.member.state is S.LEAVING
    play.let_callbacks_return()
    for send in play.open_sends():
        play.do(Answered(send.request_id, GroupLeft()))
    assert play.member.closed is not None
    assert not play.member.owned


def test_a_member_that_stopped_polling_left_with_the_epoch_of_a_stranger() -> None:
    """It joins again with the first poll, and only then."""
    play = in_state(S.STALE)
    play.let_callbacks_return()
    for send in play.open_sends():
        play.do(Answered(send.request_id, GroupLeft()))
    play.advance(3600.0)
    assert play.member.state is S.STALE
    play.do(Polled(play.now))
    assert play.heartbeat().epoch == 0


def test_a_generation_that_is_none_is_asked_for_again() -> None:
    """A coordinator that is not in its right mind must not make us a member of generation 0, nor without an id."""
    for answer in (admitted(0), admitted(1, member_id="")):
        play = ClassicPlay.new()
        play.joining()
        play.answer(JoinGroup, MemberIdGiven("given"))
        play.answer(JoinGroup, answer)
        assert (play.member.state, play.member.epoch, play.member.classic.given_id) == (S.JOINING, 0, "given")
        play.advance(1.0)
        assert play.join_request().member_id == "given"


def test_a_failed_request_gives_the_next_one_a_pause() -> None:
    """An answer of the wrong kind is no answer: the slot is free again, and everything is said once more."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, GroupSynced(share(0)))
    assert (play.member.dialogue, play.member.accepted) == (None, None)
    assert play.member.dialogue_backoff.not_before > play.now
    play.advance(1.0)
    assert play.heartbeat().owned == orders(0)


def test_a_share_that_only_adds_needs_no_follow_up_in_an_eager_group_either() -> None:
    """Only a cooperative member joins again for what was taken from it."""
    play = ClassicPlay.new().stable(0, 1).rebalanced()
    play.let_callbacks_return()
    play.answer(JoinGroup, admitted(2))
    play.answer(SyncGroup, GroupSynced(share(0)))
    assert play.member.target is not None
    assert not play.member.target.follow_up


@pytest.mark.parametrize("failure", [FailureKind.DISCONNECTED, FailureKind.NOT_KAFKA])
def test_what_does_not_answer_is_called_what_it_is(failure: FailureKind) -> None:
    """A port of another program is not a broker that is down: the advice differs."""
    play = Play.new()
    play.do(Subscribe(frozenset({"orders"})))
    play.fail(FindCoordinator, failure)
    assert play.member.problem is not None
    expected = ProblemKind.NOT_KAFKA if failure is FailureKind.NOT_KAFKA else ProblemKind.UNREACHABLE
    assert play.member.problem.kind is expected


def test_a_target_that_comes_while_leaving_is_not_taken() -> None:
    """The heartbeat that it answers was sent before the leave."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.do(Unsubscribe())
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    assert (play.member.state, play.member.target) == (S.LEAVING, None)


@pytest.mark.parametrize("mode", [LeaveMode.DEFAULT, LeaveMode.LEAVE])
def test_a_close_reports_how_the_coordinator_was_told_and_how_long_that_took(mode: LeaveMode) -> None:
    """A static member that may come back leaves for a while only; with the last word it leaves for good."""
    play = Play.new(group_instance_id="i").stable(0)
    play.do(Close(timeout_s=50.0, mode=mode))
    play.advance(1.0)
    play.returns()
    if mode is LeaveMode.LEAVE:
        play.fail(LeaveGroup, FailureKind.UNSUPPORTED)
    play.advance(2.0)
    play.answer(Heartbeat, GroupLeft())
    assert play.member.closed is not None
    told = "confirmed" if mode is LeaveMode.LEAVE else "confirmed as temporary"
    assert play.member.closed.steps == (CloseStep("revoked callback", 1.0, "returned"), CloseStep("leave", 2.0, told))
    assert play.member.closed.clean


def test_a_leader_that_leaves_does_not_end_over_a_broker_that_cannot_describe_topics() -> None:
    """It needs no plan any more."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)})
    play.stays(play.member.config.metadata_max_age_ms / 1000)
    assert play.open(DescribeTopics) is not None
    play.do(Unsubscribe())
    play.fail(DescribeTopics, FailureKind.UNSUPPORTED)
    assert play.member.state is S.LEAVING


def test_a_look_that_succeeds_ends_the_pauses_between_looks() -> None:
    """And leaves alone what the group was wished for meanwhile."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)})
    play.stays(play.member.config.metadata_max_age_ms / 1000)
    play.fail(DescribeTopics)
    assert play.member.survey_backoff.failures == 1
    play.stays(BEAT_S)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.member.survey_backoff == FRESH


def test_a_move_that_the_table_does_not_have_is_a_bug() -> None:
    """It is found where it happens, and not by an observer much later."""
    with pytest.raises(AssertionError, match="illegal transition UNSUBSCRIBED -> STABLE"):
        move(Play.new().member, S.STABLE)


def test_each_plan_is_another_target() -> None:
    """Also if it gives the same: numbers never repeat."""
    play = ClassicPlay.cooperative().stable(0)
    numbers = []
    for generation in (2, 3):
        play.rebalanced()
        play.let_in(0, generation=generation)
        assert play.member.target is not None
        numbers.append(play.member.target.number)
    assert numbers == [2, 3]


def test_giving_everything_back_to_join_is_another_target_too() -> None:
    """An eager member is to own nothing for a while: that target has a number of its own."""
    play, numbers = ClassicPlay.new().stable(0), list[int]()
    for generation in (2, 3):
        play.rebalanced()
        assert play.member.target is not None
        numbers.append(play.member.target.number)
        play.returns()
        play.let_in(0, generation=generation)
        numbers.append(play.member.target.number)
        play.let_callbacks_return()
    assert numbers == [2, 3, 4, 5]
