"""Situations that the suites of Kafka's client and librdkafka taught us to look at."""

from __future__ import annotations

import pytest

from membership_client.core.events import (
    Answered,
    CallbackKind,
    Close,
    GroupLeft,
    Heartbeat,
    LeaveGroup,
    Polled,
    Refused,
    ResolveTopics,
    Subscribe,
    Tick,
    TopicsResolved,
    Unsubscribe,
)
from membership_client.core.machine import deadline
from membership_client.partitions import Partitions
from membership_client.types import MemberState, TopicPartition
from tests.core.play import BILLS, INTERVAL_S, ORDERS, Play, accepted, in_state, orders

S = MemberState
BOTH = Partitions.of({ORDERS: [0, 1], BILLS: [0]})


def test_a_fence_keeps_the_member_id_and_starts_at_epoch_zero() -> None:
    """A member id lasts as long as its process (KIP-1082); only the epoch starts over."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(110))
    assert play.member.epoch == 0
    play.returns()
    assert (play.heartbeat().member_id, play.heartbeat().epoch) == ("me", 0)


@pytest.mark.parametrize("state", [S.UNSUBSCRIBED, S.FENCED, S.FATAL])
def test_there_is_nothing_to_wait_for_in_a_silent_state(state: MemberState) -> None:
    """No heartbeat, and no reason to wake up but to warn of a slow callback, until it returns or the user does something."""
    play = in_state(state)
    sent = len(play.sends())
    assert deadline(play.member) is None or play.member.call is not None
    play.advance(3600)
    assert len(play.sends()) == sent


@pytest.mark.parametrize("state", [S.JOINING, S.RECONCILING, S.ACK, S.STABLE])
def test_the_poll_interval_can_end_in_every_state_of_the_group(state: MemberState) -> None:
    """Each leads to STALE, with everything lost exactly once, and back with the next poll."""
    play = in_state(state, max_poll_interval_ms=3000)
    play.do(Polled(play.now))
    play.now += play.member.poll_interval_s
    play.do(Tick())
    assert play.member.state is S.STALE
    play.let_callbacks_return()
    play.answer(LeaveGroup, GroupLeft())
    play.do(Polled(play.now))
    assert (play.member.state, play.member.owned) == (S.JOINING, orders())


def test_a_leave_goes_out_although_a_heartbeat_is_in_flight() -> None:
    """The heartbeat's answer, should it come, changes nothing any more."""
    play = Play.new().stable()
    play.advance(INTERVAL_S)
    heartbeat = play.open(Heartbeat)
    play.do(Close(timeout_s=5.0))
    play.do(Answered(heartbeat.request_id, accepted(3, orders(0))))
    assert (play.member.epoch, play.member.target) == (2, None)
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None


def test_leaving_during_a_callback_waits_for_it_and_a_new_subscription_starts_clean() -> None:
    """The callback's partitions are a fact when it returns; then everything is given back."""
    play = Play.new().stable(0).told(orders(0, 1))
    play.do(Unsubscribe())
    play.do(Subscribe(frozenset({"orders"})))
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    assert len(play.callbacks()[-1].partitions) == 2
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    assert (play.member.state, play.heartbeat().owned) == (S.JOINING, orders())


@pytest.mark.parametrize("target", [orders(0, 1), orders()], ids=["assigned", "revoked"])
def test_a_subscription_that_changes_during_a_callback_is_said_at_once(target: Partitions) -> None:
    """The callback ends as it would have, and what it left is exchanged for what was asked for last."""
    play = Play.new().stable(0).told(target, epoch=3)
    call, wanted = play.member.call, Partitions.of({BILLS: [0]})
    play.do(Subscribe(frozenset({"bills"})))
    assert (play.heartbeat().topics, play.heartbeat().owned) == (("bills",), None)
    play.answer(Heartbeat, accepted(4, wanted))
    assert play.member.call == call
    while play.member.state is not S.STABLE:
        play.name_topics().let_callbacks_return()
        play.answer(Heartbeat, accepted(4))
    given = [(c.kind, len(c.partitions)) for c in play.callbacks()]
    left = [(CallbackKind.REVOKED, 2)] if target else []
    assert given[1:] == [*left, (CallbackKind.ASSIGNED, 1)]
    assert play.member.owned == wanted


@pytest.mark.parametrize("code", [42, 30, 81, 128, 4711, 69])
def test_a_fatal_answer_while_leaving_does_not_stop_the_leave(code: int) -> None:
    """We are going anyway; only being out already would change what is left to do."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=60.0))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(code))
    assert play.member.state is S.LEAVING
    play.returns()
    play.advance(2.0)
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None


def test_names_that_come_during_a_callback_are_used_after_it() -> None:
    """The running pass is not disturbed, and the rest follows."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, BOTH))
    assert play.callbacks()[-1].partitions == (TopicPartition("orders", 1),)
    play.answer(ResolveTopics, TopicsResolved({BILLS: "bills"}))
    assert len(play.callbacks()) == 1
    play.returns()
    assert play.callbacks()[-1].partitions == (TopicPartition("bills", 0),)


def test_a_partial_share_is_acknowledged_once() -> None:
    """While names are missing, the owned list is not repeated with every heartbeat."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, BOTH))
    play.returns()
    play.answer(Heartbeat, accepted(3))
    for _ in range(3):
        play.advance(INTERVAL_S)
        play.answer(ResolveTopics, TopicsResolved({})) if play.member.naming else None
        assert play.heartbeat().owned is None
        play.answer(Heartbeat, accepted(3))


@pytest.mark.parametrize("target", [Partitions(), Partitions.of({ORDERS: [7]})])
def test_any_target_replaces_one_that_waits_for_names(target: Partitions) -> None:
    """Empty or not: what is wanted last is what counts."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(4, target))
    play.let_callbacks_return()
    while play.member.dialogue is not None:
        play.answer(Heartbeat, accepted(4))
    assert (play.member.state, play.member.owned) == (S.STABLE, target)


def test_an_unknown_target_replaces_an_unknown_target() -> None:
    """Only the names that are wanted now are asked for."""
    other = Partitions.of({ORDERS: [0]})
    play = Play.new().stable()
    play.told(Partitions.of({BILLS: [0]}), epoch=3)
    play.advance(INTERVAL_S) if play.member.dialogue is None else None
    play.answer(Heartbeat, accepted(4, other))
    play.name_topics()
    assert play.member.unresolved == frozenset()


def test_the_rack_is_told_with_a_join_only() -> None:
    """It cannot change while the process lives."""
    play = Play.new(client_rack="r1").stable(0)
    play.do(Subscribe(frozenset({"bills"})))
    assert play.heartbeat().rack_id is None


def test_a_storm_of_subscriptions_ends_with_the_last_one() -> None:
    """However fast they change, one heartbeat is in flight, and what was asked last is what the broker knows."""
    play = Play.new().stable(0)
    for number in range(50):
        play.do(Subscribe(frozenset({f"topic-{number}"})))
        if number % 7 == 0:
            play.do(Unsubscribe())
            play.do(Subscribe(frozenset({f"topic-{number}"})))
        assert len([s for s in play.open_sends() if isinstance(s.request, Heartbeat | LeaveGroup)]) <= 1
        if number % 5 == 0:
            play.let_callbacks_return()
        if play.member.dialogue and isinstance(play.member.dialogue.request, LeaveGroup):
            play.answer(LeaveGroup, GroupLeft())
    play.let_callbacks_return()
    while play.member.dialogue is not None:
        kind = type(play.member.dialogue.request)
        play.answer(kind, GroupLeft() if kind is LeaveGroup else accepted(max(play.member.epoch, 2)))
        play.let_callbacks_return()
    assert play.member.accepted is not None
    assert play.member.accepted.subscription == Subscribe(frozenset({"topic-49"}))
