"""Callbacks that raise, applications that stop polling."""

from __future__ import annotations

import pytest

from membership_client.core.events import (
    CallbackKind,
    Close,
    GroupLeft,
    Heartbeat,
    LeaveGroup,
    Polled,
    Refused,
    Subscribe,
    TellLost,
    Tick,
    Unsubscribe,
    Warn,
)
from membership_client.errors import ProblemKind
from membership_client.types import MemberState
from tests.core.play import INTERVAL_S, Play, accepted, in_state, orders

S = MemberState


def assigning(policy: str) -> Play:
    play = Play.new(callback_errors=policy).joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    return play.name_topics()


def test_a_failed_assign_is_not_owned_not_acknowledged_and_tried_again() -> None:
    """Consuming a partition whose state could not be loaded is data loss."""
    play = assigning("raise")
    play.returns("ValueError: no disk")
    assert (play.member.state, play.member.owned) == (S.RECONCILING, orders())
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.CALLBACK_FAILED
    play.advance(2.0)
    assert len(play.callbacks()) == 2
    play.returns()
    assert (play.member.owned, play.member.problem) == (orders(0), None)


def test_a_failed_assign_is_tried_ever_less_often() -> None:
    """A broken callback is not called at line speed."""
    play = assigning("raise")
    for _ in range(10):
        play.returns("no")
        play.advance(INTERVAL_S * 1.3)
        play.answer(Heartbeat, accepted(2)) if play.member.dialogue else None
    assert len(play.callbacks()) == 11
    assert play.member.call_backoff.failures == 10


def test_partitions_of_a_failed_revoke_are_given_up_all_the_same() -> None:
    """The group is waiting for them."""
    play = Play.new().stable(0, 1).told(orders(0))
    play.returns("ValueError")
    assert play.member.owned == orders(0)
    assert play.heartbeat().owned == orders(0)


def test_continue_takes_a_failure_for_success() -> None:
    """As librdkafka does; the failure is recorded."""
    play = assigning("continue")
    play.returns("ValueError")
    assert play.member.owned == orders(0)
    assert play.member.state is S.ACK


@pytest.mark.parametrize("kind", [CallbackKind.ASSIGNED, CallbackKind.REVOKED])
def test_leave_leaves_with_the_reason_and_ends_fatal(kind: CallbackKind) -> None:
    """Others get the partitions at once; a new subscription may start over."""
    if kind is CallbackKind.ASSIGNED:
        play = assigning("leave")
    else:
        play = Play.new(callback_errors="leave").stable(0).told(orders())
    play.returns("ValueError: no disk")
    assert play.member.state is S.LEAVING
    request = play.open(LeaveGroup).request
    assert isinstance(request, LeaveGroup)
    assert request.reason == f"callback failed: {kind.value}"
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.state is S.FATAL
    assert play.member.problem is not None
    assert "raised ValueError" in play.member.problem.detail


def test_a_failed_lost_callback_does_not_stop_the_rejoin() -> None:
    """What is lost is lost."""
    play = in_state(S.FENCED)
    play.returns("ValueError")
    assert play.member.state is S.JOINING


def test_an_application_that_never_polls_has_no_poll_interval() -> None:
    """Membership alone needs no polling."""
    play = Play.new().stable(0)
    for _ in range(200):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(2))
    assert play.member.state is S.STABLE


def keep_alive(play: Play, seconds: float) -> list[Warn]:
    """Heartbeats are answered while the application is busy."""
    seen, end = [], play.now + seconds
    while play.now < end:
        seen += [e for e in play.advance(min(1.0, end - play.now)) if isinstance(e, Warn)]
        if play.member.dialogue and isinstance(play.member.dialogue.request, Heartbeat):
            play.answer(Heartbeat, accepted(max(play.member.epoch, 2)))
    return seen


def test_warnings_come_at_half_and_four_fifths_of_the_budget() -> None:
    """Before it is too late, once each; a poll starts the count again."""
    play = Play.new(max_poll_interval_ms=100_000).stable(0)
    play.do(Polled(play.now))
    assert [round(w.spent_s / w.limit_s, 2) for w in keep_alive(play, 90.0)] == [0.5, 0.8]
    play.do(Polled(play.now))
    assert [round(w.spent_s / w.limit_s, 2) for w in keep_alive(play, 60.0)] == [0.5]


def test_an_exceeded_poll_interval_leaves_at_once_and_loses_everything() -> None:
    """Told to the coordinator with its reason, before the busy application's callback gets to run."""
    play = Play.new(max_poll_interval_ms=10_000).stable(0)
    play.do(Polled(play.now))
    keep_alive(play, 11.0)
    assert play.member.state is S.STALE
    request = play.open(LeaveGroup).request
    assert isinstance(request, LeaveGroup)
    assert request.reason == "poll interval exceeded: 10 s"
    assert play.callbacks()[-1].kind is CallbackKind.LOST


def test_a_stale_static_member_leaves_temporarily() -> None:
    """Its partitions are kept for it until its session ends."""
    play = Play.new(max_poll_interval_ms=10_000, group_instance_id="i").stable(0)
    play.do(Polled(play.now))
    keep_alive(play, 11.0)
    assert play.heartbeats()[-1].epoch == -2


def test_the_next_poll_joins_again_after_the_lost_callback() -> None:
    """STALE ends with a poll, and only when nothing is left of the old time."""
    play = Play.new(max_poll_interval_ms=10_000).stable(0)
    play.do(Polled(play.now))
    keep_alive(play, 11.0)
    play.answer(LeaveGroup, GroupLeft())
    play.do(Polled(play.now))
    assert play.member.state is S.STALE
    play.returns()
    assert play.member.state is S.JOINING
    assert play.heartbeat().owned == orders()


def test_a_stale_member_is_silent() -> None:
    """No heartbeats until the application polls."""
    play = in_state(S.STALE)
    play.answer(LeaveGroup, GroupLeft())
    play.returns()
    sent = len(play.sends())
    play.advance(3600)
    assert (len(play.sends()), play.member.state) == (sent, S.STALE)


def test_a_callback_that_runs_when_the_poll_interval_ends_learns_it() -> None:
    """Its partitions are gone."""
    play = Play.new(max_poll_interval_ms=10_000).stable(0, 1).told(orders(0))
    play.do(Polled(play.now))
    play.now += 10.0
    assert any(isinstance(effect, TellLost) for effect in play.do(Tick()))


def test_unsubscribe_while_stale_ends_unsubscribed() -> None:
    """A later poll joins nothing."""
    play = in_state(S.STALE)
    play.do(Unsubscribe())
    play.answer(LeaveGroup, GroupLeft())
    play.returns()
    assert play.member.state is S.UNSUBSCRIBED
    play.do(Polled(play.now))
    assert play.member.state is S.UNSUBSCRIBED


@pytest.mark.parametrize("away_s", [10.0, 3600.0])
def test_the_poll_clock_begins_anew_with_a_new_subscription(away_s: float) -> None:
    """The bug: after an unsubscribe longer than the poll interval a new subscription was STALE until the next poll."""
    play = Play.new(max_poll_interval_ms=10_000).stable(0)
    play.do(Polled(play.now))
    play.do(Unsubscribe())
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    play.advance(away_s)
    play.do(Subscribe(frozenset({"orders"})))
    assert play.member.state is S.JOINING
    play.answer(Heartbeat, accepted(3))
    play.let_callbacks_return()
    assert [round(warning.spent_s, 1) for warning in keep_alive(play, 9.5)] == [5.0, 8.0]
    assert play.member.state is S.STABLE
    keep_alive(play, 1.0)
    assert play.member.state is S.STALE


def test_an_application_that_never_polled_has_no_poll_clock_after_a_new_subscription() -> None:
    """It would be out of the group after the first interval."""
    play = Play.new(max_poll_interval_ms=10_000).stable(0)
    play.do(Unsubscribe())
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    play.do(Subscribe(frozenset({"orders"})))
    assert play.member.polled_at is None


def test_a_fence_does_not_restart_the_poll_clock() -> None:
    """The application may be stuck all the same."""
    play = in_state(S.STABLE, max_poll_interval_ms=10_000)
    play.do(Polled(play.now))
    polled_at = play.member.polled_at
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.returns()
    assert (play.member.state, play.member.polled_at) == (S.JOINING, polled_at)


def test_unsubscribe_while_fenced_does_not_join_again() -> None:
    """The lost callback ends it."""
    play = in_state(S.FENCED)
    play.do(Unsubscribe())
    play.returns()
    assert play.member.state is S.UNSUBSCRIBED


def test_leave_ends_with_the_failure_also_if_the_callbacks_of_the_leave_succeed() -> None:
    """A later success says that an earlier failure is over; what ended the member is not over."""
    play = Play.new(callback_errors="leave").stable(0).told(orders(0, 1))
    play.returns("ValueError: no disk")
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.state is S.FATAL
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.CALLBACK_FAILED


def test_partitions_that_are_withdrawn_while_their_callback_fails_are_released_at_once() -> None:
    """They were never owned, so no revoked callback will tell the coordinator that they are free."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0, 1)))
    play.name_topics()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0)))
    play.returns("ValueError: no")
    assert (play.heartbeat().topics, play.heartbeat().owned) == (("orders",), orders(0))


def test_partitions_that_are_still_wanted_when_their_callback_fails_are_not_told_of() -> None:
    """The callback is tried again, and the coordinator waits for it."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0, 1)))
    play.name_topics()
    play.returns("ValueError: no")
    assert play.member.dialogue is None


def test_a_callback_with_nothing_that_fails_is_tried_again_after_a_pause() -> None:
    """It would fail at once again, as any other callback."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2))
    play.returns("ValueError: no")
    assert play.member.call is None
    play.advance(1.0)
    assert play.member.call is not None


def test_a_fenced_member_that_is_closed_during_a_callback_has_lost_its_partitions() -> None:
    """The group has given them away: the application must not commit them as if they were revoked in time."""
    play = Play.new().stable(0).told(orders(0, 1))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(110))
    play.do(Close(timeout_s=30.0))
    assert play.member.state is S.LEAVING
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.LOST
