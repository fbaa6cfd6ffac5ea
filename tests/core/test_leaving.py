"""Leaving: give back, tell, end; and what a close reports."""

from __future__ import annotations

import pytest

from membership_client.core.events import (
    CallbackKind,
    Close,
    CoordinatorDoubted,
    FailureKind,
    FindCoordinator,
    GroupLeft,
    Heartbeat,
    LeaveGroup,
    Polled,
    Refused,
    Stop,
    Subscribe,
    Unsubscribe,
)
from membership_client.core.view import share_of
from membership_client.types import CauseKind, LeaveMode, MemberState, Share
from tests.core.play import BROKER, INTERVAL_S, OTHER_BROKER, Play, accepted, orders

S = MemberState


def leave(play: Play) -> LeaveGroup:
    request = play.open(LeaveGroup).request
    assert isinstance(request, LeaveGroup)
    return request


def test_close_revokes_then_leaves_with_its_reason() -> None:
    """The reason reaches the broker although the heartbeat has no field for one; the report tells every step."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=5.0, reason="scaled down"))
    call = play.callbacks()[-1]
    assert (call.kind, call.cause.kind, call.deadline) == (CallbackKind.REVOKED, CauseKind.CLOSED, play.now + 5.0)
    play.returns()
    assert leave(play) == LeaveGroup(group_id="g", member_id="me", instance_id=None, reason="scaled down")
    effects = play.answer(LeaveGroup, GroupLeft())
    assert effects == [Stop()]
    closed = play.member.closed
    assert closed is not None
    assert closed.clean
    assert [(s.name, s.outcome) for s in closed.steps] == [
        ("revoked callback", "returned"),
        ("leave", "confirmed, with its reason"),
    ]


def test_reasons_are_cut_at_255_characters() -> None:
    """Longer ones are refused by brokers."""
    play = Play.new().stable()
    play.do(Close(timeout_s=5.0, reason="x" * 300))
    assert leave(play).reason == "x" * 255


@pytest.mark.parametrize("code", [35, 42, -1, 30])
def test_a_leave_with_a_reason_that_is_refused_is_followed_by_a_plain_one(code: int) -> None:
    """Leaving matters more than saying why."""
    play = Play.new().stable()
    play.do(Close(timeout_s=5.0))
    play.answer(LeaveGroup, Refused(code))
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=-1)
    play.answer(Heartbeat, accepted(-1))
    assert play.member.closed is not None
    assert play.member.closed.clean


def test_a_broker_without_reasons_gets_the_plain_leave() -> None:
    """LeaveGroup below version 5 has no reason, so the heartbeat says it."""
    play = Play.new().stable()
    play.do(Close(timeout_s=5.0))
    play.fail(LeaveGroup, FailureKind.UNSUPPORTED)
    assert play.heartbeat().epoch == -1


@pytest.mark.parametrize("code", [25, 69, 110, 82])
def test_being_out_already_is_as_good_as_leaving(code: int) -> None:
    """The coordinator no longer knows us: that is what we wanted."""
    play = Play.new().stable()
    play.do(Close(timeout_s=5.0))
    play.answer(LeaveGroup, Refused(code))
    assert play.member.closed is not None
    assert play.member.closed.clean


@pytest.mark.parametrize(
    ("instance_id", "mode", "epoch"),
    [
        ("i", LeaveMode.DEFAULT, -2),
        ("i", LeaveMode.TEMPORARY, -2),
        ("i", LeaveMode.REMAIN, -2),
    ],
)
def test_a_static_member_leaves_temporarily(instance_id: str, mode: LeaveMode, epoch: int) -> None:
    """Its next incarnation gets the same partitions; without the instance id the broker would refuse it."""
    play = Play.new(group_instance_id=instance_id).stable()
    play.do(Close(mode=mode, timeout_s=5.0))
    assert (play.heartbeat().epoch, play.heartbeat().instance_id) == (epoch, "i")


def test_a_static_member_can_leave_for_good() -> None:
    """For scale-down: the partitions move at once."""
    play = Play.new(group_instance_id="i").stable()
    play.do(Close(mode=LeaveMode.LEAVE, timeout_s=5.0))
    assert leave(play).instance_id == "i"


@pytest.mark.parametrize("mode", [LeaveMode.DEFAULT, LeaveMode.LEAVE])
def test_a_dynamic_member_leaves_for_good(mode: LeaveMode) -> None:
    """No process will come back under its member id, so nothing is kept for it."""
    play = Play.new().stable()
    play.do(Close(mode=mode, timeout_s=5.0))
    assert (leave(play).member_id, leave(play).instance_id) == ("me", None)


def test_a_dynamic_member_that_remains_tells_nobody() -> None:
    """Its session will end by itself."""
    play = Play.new().stable()
    sent = len(play.sends())
    play.do(Close(mode=LeaveMode.REMAIN, timeout_s=5.0))
    assert len(play.sends()) == sent
    assert play.member.closed is not None


def test_heartbeats_go_on_while_the_last_callback_runs() -> None:
    """Otherwise a slow goodbye would be a lost session."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=60.0))
    for _ in range(3):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(2))
    assert play.member.state is S.LEAVING
    assert len(play.heartbeats()) == 3


def test_a_leave_that_is_not_answered_is_repeated_at_the_new_coordinator() -> None:
    """A coordinator that moves must not keep a ghost of us."""
    play = Play.new().stable()
    play.do(Close(timeout_s=30.0))
    play.answer(LeaveGroup, Refused(16))
    play.find_coordinator(OTHER_BROKER)
    play.advance(1.0)
    assert play.open(LeaveGroup).to == OTHER_BROKER


def test_a_close_gives_up_in_time_and_says_why() -> None:
    """Bounded, whatever the brokers do."""
    play = Play.new().stable()
    play.do(Close(timeout_s=2.0))
    play.fail(LeaveGroup)
    play.advance(2.0)
    closed = play.member.closed
    assert closed is not None
    assert not closed.clean
    assert "it broke" in closed.steps[-1].outcome


def test_a_close_does_not_tell_the_coordinator_while_a_callback_still_works() -> None:
    """Given away while the application still writes, a partition would have two owners."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=2.0))
    play.advance(2.0)
    closed = play.member.closed
    assert closed is not None
    assert (closed.clean, closed.steps[-1].outcome) == (False, "not told: the revoked callback still runs")
    assert not [send for send in play.sends() if isinstance(send.request, LeaveGroup)]


def test_an_unanswered_join_is_left_as_well() -> None:
    """The coordinator may have let us in without our knowing."""
    play = Play.new().joining()
    play.do(Close(timeout_s=5.0))
    assert leave(play).member_id == "me"


def test_closing_before_joining_tells_nobody() -> None:
    """There is no coordinator to tell."""
    play = Play.new()
    play.do(Subscribe(frozenset({"orders"})))
    play.do(Close(timeout_s=5.0))
    assert play.member.closed is not None
    assert play.member.closed.clean


def test_unsubscribe_leaves_and_a_new_subscription_joins_again() -> None:
    """The same member id, a new join, everything assigned anew."""
    play = Play.new().stable(0)
    play.do(Unsubscribe(reason="pause"))
    play.do(Subscribe(frozenset({"orders"})))
    play.returns()
    assert leave(play).reason == "pause"
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.state is S.JOINING
    assert play.heartbeat().epoch == 0
    assert play.heartbeat().owned is not None


def test_unsubscribe_without_an_answer_ends_all_the_same() -> None:
    """One request timeout after the callbacks, the member is free to subscribe again."""
    play = Play.new().stable(0)
    play.do(Unsubscribe())
    play.returns()
    play.advance(10.0)
    assert play.member.state is S.UNSUBSCRIBED


def test_a_target_that_comes_while_leaving_is_not_taken() -> None:
    """What we are about to give up does not grow."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=30.0))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    assert play.member.target is None
    play.returns()
    assert play.member.owned == orders()


def test_a_fence_while_leaving_needs_no_leave() -> None:
    """We are out: the callback ends, nothing is sent, and the member does not join again."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=30.0))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.returns()
    assert play.member.closed is not None
    assert play.member.closed.steps[-1].outcome == "nothing to tell: not in the group"


def test_closing_while_fenced_waits_for_the_lost_callback_only() -> None:
    """No join, no leave."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.do(Close(timeout_s=30.0))
    play.returns()
    assert play.member.closed is not None


def test_a_second_close_changes_nothing() -> None:
    """The first one's mode, reason and deadline stand."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=30.0, reason="first"))
    before = play.member
    play.do(Close(timeout_s=1.0, reason="second"))
    assert play.member == before


def test_close_during_an_unsubscribe_takes_over() -> None:
    """The close's own mode decides, and the thread ends."""
    play = Play.new(group_instance_id="i").stable(0)
    play.do(Unsubscribe())
    play.returns()
    assert play.heartbeat().epoch == -2
    play.do(Close(mode=LeaveMode.LEAVE, timeout_s=5.0))
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None


def test_a_raising_callback_makes_a_close_unclean_but_not_stuck() -> None:
    """The report says so."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=5.0))
    play.returns("ValueError: no")
    play.answer(LeaveGroup, GroupLeft())
    closed = play.member.closed
    assert closed is not None
    assert (closed.clean, closed.steps[0].outcome) == (False, "raised")


def test_a_callback_with_time_of_its_own_outlasts_the_close() -> None:
    """The coordinator is told after it: the bug was that the membership ended under it, and its commit was refused."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=10.0, callback_timeout_s=60.0))
    play.advance(0.1)
    while play.now < 1014.0:
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(play.member.epoch))
    assert play.member.state is MemberState.LEAVING
    assert play.callbacks()[-1].deadline == pytest.approx(1060.0)
    play.returns()
    assert play.member.closed is None
    play.advance(9.0)  # What is left of the 10 s, though the callback has taken longer.
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None
    assert play.member.closed.clean


def test_a_callback_has_no_more_time_than_the_group_grants() -> None:
    """After that the close ends under it, and says so."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=10.0, callback_timeout_s=60.0))
    play.advance(60.5)
    assert play.member.closed is not None
    assert [step.outcome for step in play.member.closed.steps] == ["not told: the revoked callback still runs"]


def test_a_leave_waits_until_the_coordinator_is_known() -> None:
    """Sent to any broker, it would be refused, and the group would wait for the session of a member that has gone."""
    play = Play.new().stable()
    play.do(CoordinatorDoubted(BROKER))
    play.do(Close(timeout_s=5.0))
    assert [type(send.request) for send in play.open_sends()] == [FindCoordinator]
    play.find_coordinator(OTHER_BROKER)
    assert play.open(LeaveGroup).to == OTHER_BROKER


def test_a_coordinator_that_may_not_be_looked_for_does_not_turn_a_leave_into_a_fatal_error() -> None:
    """Rights that were withdrawn meanwhile are no matter for a member on its way out."""
    play = Play.new().stable()
    play.do(CoordinatorDoubted(BROKER))
    play.do(Unsubscribe())
    play.answer(FindCoordinator, Refused(30))
    assert play.member.state is S.LEAVING
    play.advance(60.0)
    assert play.member.state is S.UNSUBSCRIBED


def test_a_joiner_that_was_refused_for_good_has_nothing_to_leave() -> None:
    """A close must not wait for a coordinator that never let it in."""
    play = Play.new().joining()
    play.answer(Heartbeat, Refused(30))
    play.do(Close(timeout_s=5.0))
    assert play.member.closed is not None
    assert play.member.closed.clean


def test_partitions_of_the_first_epoch_are_revoked_and_not_lost() -> None:
    """Epoch 1 is a membership: what it owned may still be committed."""
    play = Play.new().stable(0, epoch=1)
    play.do(Close(timeout_s=5.0))
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED


def test_a_member_that_has_left_is_owed_nothing() -> None:
    """Its share would otherwise be shown as still to come."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders()))
    assert share_of(play.member) is Share.PENDING
    play.do(Unsubscribe())
    play.let_callbacks_return()
    play.answer(LeaveGroup, GroupLeft())
    assert share_of(play.member) is Share.NONE


def test_a_leave_request_waits_for_an_assigned_callback_of_a_member_that_owns_nothing_yet() -> None:
    """What the callback brings is given back before the coordinator is told, or two members would work on it."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    play.do(Close(timeout_s=30.0))
    assert not any(isinstance(send.request, LeaveGroup) for send in play.sends())
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    play.returns()
    assert leave(play).member_id == "me"


def test_a_member_that_is_fenced_while_it_gives_partitions_back_sends_no_more_heartbeats() -> None:
    """With epoch 0 the next one would be a join."""
    play = Play.new().stable(0)
    play.do(Unsubscribe())
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    sent = len(play.heartbeats())
    play.advance(60.0)
    assert (play.member.state, len(play.heartbeats())) == (S.LEAVING, sent)


def test_a_heartbeat_that_is_refused_while_partitions_are_given_back_is_repeated_after_an_interval() -> None:
    """It has nothing new to say, so a coordinator in trouble is not asked more often than in peace."""
    play = Play.new().stable(0)
    play.do(Unsubscribe())
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(14))
    sent = len(play.heartbeats())
    play.advance(INTERVAL_S - 0.1)
    assert len(play.heartbeats()) == sent
    play.advance(0.2)
    assert len(play.heartbeats()) == sent + 1


def test_a_member_that_is_fenced_while_it_looks_for_the_coordinator_has_left() -> None:
    """The close need not wait until the coordinator is found: there is nothing to tell it any more."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.do(CoordinatorDoubted(BROKER))
    play.do(Close(timeout_s=30.0))
    play.returns()
    assert play.member.closed is None
    play.answer(Heartbeat, Refused(25))
    assert play.member.closed is not None
    assert play.member.closed.steps[-1].outcome == "nothing to tell: not in the group"


def test_a_broker_that_has_neither_leave_makes_a_close_unclean() -> None:
    """The coordinator was not told, and the report says so."""
    play = Play.new().stable()
    play.do(Close(timeout_s=5.0))
    play.fail(LeaveGroup, FailureKind.UNSUPPORTED)
    play.fail(Heartbeat, FailureKind.UNSUPPORTED)
    assert play.member.closed is not None
    assert not play.member.closed.clean


@pytest.mark.parametrize("failure", [FailureKind.AUTHENTICATION, FailureKind.UNTRUSTED])
def test_credentials_that_are_refused_do_not_keep_a_member_from_leaving(failure: FailureKind) -> None:
    """The leave request would be refused again, so it is tried once; the member does not end FATAL instead."""
    play = Play.new().stable()
    play.do(Close(timeout_s=5.0))
    play.fail(LeaveGroup, failure)
    assert play.member.state is S.UNSUBSCRIBED
    assert play.member.closed is not None
    assert not play.member.closed.clean


def test_a_member_that_does_not_poll_has_left_before_it_joins_again() -> None:
    """A join that overtook its own leave would be ended by it."""
    play = Play.new().stable(0)
    play.do(Polled(play.now + 1.0 - play.member.poll_interval_s))
    play.advance(1.0)
    play.let_callbacks_return()
    play.do(Polled(play.now))
    assert (play.member.state, play.member.departure is None) == (S.STALE, False)
    play.answer(LeaveGroup, GroupLeft())
    assert play.heartbeat().epoch == 0


def test_a_member_that_gives_partitions_back_looks_for_a_lost_coordinator() -> None:
    """Its heartbeats must go on while the callback runs, or others would be given what it still works on."""
    play = Play.new().stable(0)
    play.do(Unsubscribe())
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    assert play.open(FindCoordinator).to is None
    play.find_coordinator(OTHER_BROKER)
    play.advance(INTERVAL_S)
    assert play.open(Heartbeat).to == OTHER_BROKER


def test_a_member_that_does_not_poll_looks_for_the_coordinator_to_tell_it() -> None:
    """Once is not enough, if the first search is refused."""
    play = Play.new().stable(0)
    play.do(CoordinatorDoubted(BROKER))
    play.do(Polled(play.now + 1.0 - play.member.poll_interval_s))
    play.advance(1.0)
    play.answer(FindCoordinator, Refused(15))
    play.advance(1.0)
    assert play.member.state is S.STALE
    play.find_coordinator()
    assert leave(play).member_id == "me"


def test_a_member_that_was_fenced_while_it_leaves_looks_for_no_coordinator() -> None:
    """It has nothing to say to one, however long its callback takes."""
    play = Play.new().stable(0)
    play.do(Unsubscribe())
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.do(CoordinatorDoubted(BROKER))
    play.advance(60.0)
    assert (play.member.call is not None, play.member.lookup) == (True, None)


def test_a_leaving_static_member_names_its_instance_and_repeats_what_it_holds_after_a_failure() -> None:
    """A coordinator that did not get the last heartbeat must not take the partitions for released."""
    play = Play.new(group_instance_id="i").stable(0)
    play.do(Unsubscribe())
    play.advance(INTERVAL_S)
    assert (play.heartbeat().instance_id, play.heartbeat().owned, play.heartbeat().topics) == ("i", None, None)
    play.answer(Heartbeat, Refused(14))
    play.advance(INTERVAL_S)
    assert (play.heartbeat().instance_id, play.heartbeat().owned, play.heartbeat().topics) == ("i", orders(0), None)


def test_a_static_member_that_leaves_for_good_without_a_reason_names_its_instance() -> None:
    """Otherwise the coordinator would keep its place."""
    play = Play.new(group_instance_id="i").stable()
    play.do(Close(timeout_s=5.0, mode=LeaveMode.LEAVE))
    play.fail(LeaveGroup, FailureKind.UNSUPPORTED)
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=-1, instance_id="i")


def test_a_close_in_which_the_first_of_two_callbacks_raises_is_not_clean() -> None:
    """The second one returned, and says nothing about the first."""
    play = Play.new(callback_errors="continue").joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    play.do(Close(timeout_s=30.0))
    play.returns("ValueError: no")
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None
    assert [step.outcome for step in play.member.closed.steps[:2]] == ["raised", "returned"]
    assert not play.member.closed.clean


def test_a_leaving_member_says_no_more_than_it_must_also_if_a_topic_was_denied_to_it() -> None:
    """What it wants is of no interest any more; that it holds partitions is."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "secret"})))
    play.answer(Heartbeat, Refused(29, "secret"))
    play.do(Unsubscribe())
    play.answer(Heartbeat, Refused(14))
    play.advance(INTERVAL_S)
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=2, owned=orders(0))


def test_a_member_that_leaves_does_not_change_its_protocol() -> None:
    """Its join is refused while the coordinator is looked for; there is nothing to join any more by another one."""
    play = Play.new().joining()
    play.do(CoordinatorDoubted(BROKER))
    play.do(Close(timeout_s=5.0))
    play.answer(Heartbeat, Refused(35))
    assert (play.member.state, play.member.settled) == (S.LEAVING, None)
