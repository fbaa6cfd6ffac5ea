"""`last_rebalance` and `explain()` by values: what a member says of its last rebalance and of this moment."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

import pytest

from membership_client.core.callbacks import returned
from membership_client.core.events import (
    CallbackKind,
    CallbackReturned,
    Close,
    DescribeGroup,
    Effect,
    Event,
    GroupDescribed,
    GroupLeft,
    Heartbeat,
    LeaveGroup,
    MemberDescription,
    Polled,
    Refused,
    Tick,
    Unsubscribe,
)
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.rebalance_report import RebalanceReport, RebalanceTrigger
from membership_client.runtime.explanation import Circumstances, explanation
from membership_client.runtime.rebalance_history import RebalanceHistory, trigger_of
from membership_client.types import Cause, CauseKind, LeaveMode, MemberState, TopicPartition
from tests.core.play import INTERVAL_S, Play, accepted, config, orders

NAME = f"g/remembered@{socket.gethostname()}:{os.getpid()}"


@dataclass
class RememberedPlay(Play):
    """A member whose every step is shown to its history."""

    history: RebalanceHistory = field(default_factory=RebalanceHistory)

    def do(self, event: Event) -> list[Effect]:
        before = self.member
        effects = super().do(event)
        self.history.on_step(Step(self.now, before, event, tuple(effects), self.member))
        return effects

    @property
    def last(self) -> RebalanceReport:
        assert self.history.last is not None
        return self.history.last

    def explained(self, *, busy: str = "", waits_for_poll: bool = False, began_at: float | None = None) -> str:
        circumstances = Circumstances(
            now=self.now,
            state_since=self.history.state_since,
            last=self.history.last,
            last_ended_at=self.history.ended_at,
            polled_at=self.member.polled_at,
            waits_for_poll=waits_for_poll,
            callback_began_at=began_at,
            busy=busy,
        )
        return explanation(self.member, circumstances)


def remembered(**overrides: object) -> RememberedPlay:
    return RememberedPlay(Member(config=config(**{"client_id": "remembered", **overrides}), member_id="me"))


def of_orders(*numbers: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition("orders", number) for number in numbers)


def test_a_rebalance_is_remembered_with_cause_trigger_time_moves_and_callbacks() -> None:
    """The application asked "what happened to me just now?" and had only log lines."""
    play = remembered(group_protocol="consumer")
    assert play.history.last is None
    play.stable(0, 1).told(orders(0, 2))
    play.now += 1.5
    (call_id,) = [play.member.call.call_id] if play.member.call else []
    play.do(CallbackReturned(call_id, None, play.now - 0.5, "main"))
    play.answer(Heartbeat, accepted(3))
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    last = play.last
    assert (last.state, last.epoch, last.owned, last.seconds) == (MemberState.STABLE, 3, 2, 1.5)
    assert (last.got, last.lost) == (of_orders(2), of_orders(1))
    assert (last.cause.kind, last.triggered_by) == (CauseKind.GROUP_CHANGED, RebalanceTrigger.GROUP)
    revoked, assigned = last.callbacks
    assert (revoked.kind, revoked.partitions) == (CallbackKind.REVOKED, of_orders(1))
    assert (revoked.waited_s, revoked.ran_s, revoked.error) == (1.0, 0.5, None)
    assert assigned.kind is CallbackKind.ASSIGNED
    assert str(last).endswith("in 1.5 s; the revoked callback took 0.5 s after it waited 1.0 s")


def test_a_poll_interval_that_ran_out_while_the_process_was_stopped_is_not_the_applications() -> None:
    """The sentence blamed the application, while the traces of the same time said that the process was stopped."""
    play = remembered(max_poll_interval_ms=30_000)
    play.stable(0)
    play.do(Polled(play.now))
    play.now += 60.0
    play.do(Tick())
    play.let_callbacks_return()
    play.advance(20.0)
    assert (play.last.cause.kind, play.last.triggered_by) == (
        CauseKind.POLL_INTERVAL_EXCEEDED,
        RebalanceTrigger.MEMBER,
    )
    assert play.last.stood_still_s == 60.0
    assert str(play.last).endswith("; just before, this process did nothing for 60.0 s")


def test_a_fence_after_a_standstill_is_told_with_the_standstill() -> None:
    """The heartbeat that is refused is the first thing that the process does when it goes on."""
    play = remembered()
    play.stable(0)
    play.now += 60.0
    play.do(Tick())
    play.answer(Heartbeat, Refused(25, "removed"))
    play.let_callbacks_return()
    play.advance(2.0)
    play.answer(Heartbeat, accepted(5, orders(0)))
    play.name_topics().let_callbacks_return()
    play.answer(Heartbeat, accepted(5))
    assert play.last.cause.kind is CauseKind.FENCED
    assert play.last.stood_still_s == 60.0


def test_an_application_that_does_not_poll_is_told_of_no_standstill() -> None:
    """Heartbeats went on."""
    play = remembered(max_poll_interval_ms=30_000)
    play.stable(0)
    play.do(Polled(play.now))
    for _ in range(60):
        play.advance(1.0)
        if play.member.dialogue is not None and play.member.epoch > 0:
            play.answer(Heartbeat, accepted(play.member.epoch))
        play.let_callbacks_return()
    assert play.last.cause.kind is CauseKind.POLL_INTERVAL_EXCEEDED
    assert (play.last.triggered_by, play.last.stood_still_s) == (RebalanceTrigger.APPLICATION, 0.0)


def test_a_fence_and_the_join_after_it_are_one_rebalance_of_the_coordinators() -> None:
    """It is told as what began it, and not as the join that ended it."""
    play = remembered()
    play.stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25, "removed"))
    play.let_callbacks_return()
    play.advance(2.0)
    play.answer(Heartbeat, accepted(5, orders(0)))
    play.name_topics().let_callbacks_return()
    play.answer(Heartbeat, accepted(5))
    assert (play.last.cause.kind, play.last.triggered_by) == (CauseKind.FENCED, RebalanceTrigger.COORDINATOR)
    assert [call.kind for call in play.last.callbacks] == [CallbackKind.LOST, CallbackKind.ASSIGNED]
    assert "nothing moved" in str(play.last)


def test_a_callback_that_raises_is_named_by_type_and_without_its_message() -> None:
    """The message may quote a record of a customer."""
    play = remembered(callback_errors="continue")
    play.stable(0).told(orders(0, 1))
    play.returns("ValueError: customer 4711")
    play.answer(Heartbeat, accepted(3))
    assert "the assigned callback raised ValueError" in str(play.last)
    assert "4711" not in repr(play.last)


def test_a_poll_interval_that_is_exceeded_ends_out_of_the_group() -> None:
    """Until the application polls again there is no rebalance under way."""
    play = remembered(**{"max.poll.interval.ms": 10_000})
    play.stable(0)
    play.do(Polled(play.now))
    play.advance(10.0)
    play.let_callbacks_return()
    play.answer(LeaveGroup, GroupLeft())
    assert play.last.state is MemberState.STALE
    assert str(play.last).startswith("out of the group until the application polls again (poll interval exceeded: 10 s")
    assert "Do: poll; wrap long work" in play.explained()


def test_a_callback_that_has_not_returned_when_the_member_ends_is_told_as_such() -> None:
    """A close does not wait for ever."""
    play = remembered()
    play.stable(0)
    play.do(Close(mode=LeaveMode.DEFAULT, reason=None, timeout_s=5.0))
    play.advance(5.0)
    (call,) = play.last.callbacks
    assert (call.returned, call.ran_s) == (False, 5.0)
    assert "the revoked callback had not returned after 5.0 s" in str(play.last)


@pytest.mark.parametrize(
    ("cause", "trigger"),
    [
        (Cause(CauseKind.JOINED, "joined the group"), RebalanceTrigger.APPLICATION),
        (Cause(CauseKind.GROUP_CHANGED, "rebalance: group is rebalancing"), RebalanceTrigger.GROUP),
        (Cause(CauseKind.GROUP_CHANGED, "rebalance: topics changed"), RebalanceTrigger.MEMBER),
        (Cause(CauseKind.GROUP_CHANGED, "rebalance: new prices"), RebalanceTrigger.APPLICATION),
        (Cause(CauseKind.SUBSCRIPTION_CHANGED, "rebalance: subscription changed"), RebalanceTrigger.APPLICATION),
        (Cause(CauseKind.FATAL, "no access"), RebalanceTrigger.MEMBER),
    ],
)
def test_the_trigger_follows_from_the_cause(cause: Cause, trigger: RebalanceTrigger) -> None:
    """In a classic group the cause ends in the reason of the join."""
    assert trigger_of(cause) is trigger


# --- explain() -------------------------------------------------------------------------------------------------------


def test_a_new_member_says_to_subscribe() -> None:
    """Nothing happened to it yet."""
    text = remembered().explained()
    assert text.splitlines() == [
        f"{NAME} is unsubscribed, and owns nothing.",
        "It waits for the application to subscribe.",
        "Last rebalance: none yet.",
        "Do: call subscribe().",
    ]


def test_a_subscription_that_the_membership_thread_has_not_taken_in_counts() -> None:
    """Right after subscribe() the text said to call it."""
    circumstances = Circumstances(
        now=0.0, state_since=None, last=None, last_ended_at=None, polled_at=None, is_subscribed=True
    )
    text = explanation(remembered().member, circumstances)
    assert text.startswith(f"{NAME} is about to join, and owns nothing.\nIt waits for its membership thread")
    assert "Do: nothing, all is well." in text


def test_a_stable_member_waits_for_nothing_and_tells_its_last_rebalance() -> None:
    """The whole answer of the usual case."""
    play = remembered()
    play.stable(0, 1)
    play.now += 1.0
    state, waits, last, advice = play.explained().splitlines()
    assert state == f"{NAME} is stable for 1.0 s, at epoch 2, and owns orders[0-1]."
    assert waits == "It waits for nothing."
    assert last.startswith("Last rebalance, 1.0 s ago: stable at epoch 2 with 2 partitions (joined the group; ")
    assert advice == "Do: nothing, all is well."


def test_a_callback_is_named_with_its_partitions_its_time_and_where_its_thread_stands() -> None:
    """One that a Consumer has not begun waits for a poll, and the thread is at its record."""
    play = remembered()
    play.stable(0, 1).told(orders(0))
    play.now += 3.0
    busy = "; thread main is at charge (shop.py:7)"
    assert f"It waits for the revoked callback of orders[1] to return, for 3.0 s{busy}." in play.explained(busy=busy)
    text = play.explained(busy=busy, waits_for_poll=True)
    assert f"It waits for a call of poll(), for 3.0 s, to run the revoked callback of orders[1]{busy}." in text
    assert "Do: poll more often, or wrap long work in consumer.hold()." in text


def test_a_callback_that_returned_without_an_error_is_not_blamed() -> None:
    """In the milliseconds until the membership thread takes the return in, the text told of a callback that raised."""
    play = remembered()
    play.joining().answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    call = play.member.call
    assert call is not None
    member = returned(play.member, CallbackReturned(call.call_id), play.now)[0]
    text = explanation(
        member, Circumstances(now=play.now, state_since=None, last=None, last_ended_at=None, polled_at=None)
    )
    assert "reconciling at epoch 2, and owns orders[0]." in text
    assert "It waits for its membership thread, which takes the next step within milliseconds." in text
    assert "raised" not in text
    assert "Do: nothing, all is well." in text


def test_a_callback_that_raised_is_what_is_waited_for() -> None:
    """It is called again after a backoff."""
    play = remembered()
    play.joining().answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics().returns("ValueError: no disk")
    text = play.explained()
    assert "It waits for the next attempt of the callback that raised." in text
    assert "Problem: The assigned callback raised ValueError." in text


@pytest.mark.parametrize("state", [MemberState.FENCED, MemberState.STALE, MemberState.FATAL])
def test_the_group_does_not_wait_for_a_lost_callback(state: MemberState) -> None:
    """The text said that the group waits 300 s for it, and that the member owns partitions which are others' by then."""
    play = remembered()
    play.stable(0, 1)
    _out_of_the_group(play, state)
    text = play.explained()
    assert f"{NAME} is {state.value}" in text
    assert "and had orders[0-1]." in text
    assert "It waits for the lost callback of orders[0-1] to return" in text
    assert "the group waits" not in text
    if state is MemberState.FENCED:
        assert (
            "Do: nothing, unless it should be quicker: the partitions are lost already, "
            "and this member does not join again before it returns." in text
        )
    play.let_callbacks_return()
    assert "and owns nothing." in play.explained()


def _out_of_the_group(play: RememberedPlay, state: MemberState) -> None:
    if state is MemberState.STALE:
        play.do(Polled(play.now))
        play.advance(play.member.poll_interval_s)
        return
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25 if state is MemberState.FENCED else 30))


def test_a_callback_that_runs_counts_from_its_begin() -> None:
    """The time that it had waited for a poll was counted as its own."""
    play = remembered()
    play.stable(0, 1).told(orders(0))
    play.now += 3.0
    assert "revoked callback of orders[1] to return, for 0.5 s." in play.explained(began_at=play.now - 0.5)


def test_an_application_that_does_not_poll_is_told_before_its_time_is_up() -> None:
    """From half of the interval on."""
    play = remembered(**{"max.poll.interval.ms": 10_000})
    play.stable(0)
    play.do(Polled(play.now))
    play.now += 4.0
    assert "has not polled" not in play.explained()
    play.now += 2.0
    assert "The application has not polled for 6.0 s of the 10 s of max.poll.interval.ms." in play.explained()


def test_a_refused_instance_id_names_its_holder() -> None:
    """The other process may have to be stopped."""
    play = remembered(group_instance_id="i")
    play.joining().answer(Heartbeat, Refused(111, "the instance id is owned by them."))
    holder = MemberDescription(member_id="them", instance_id="i", client_id="c", host="h")
    play.answer(DescribeGroup, GroupDescribed((holder,)))
    play.now += 2.0
    text = play.explained()
    assert "It waits for the instance id i, which member them (client c, host h) holds, for 2.0 s." in text
    assert "Problem: the instance id is owned by them." in text


def test_a_coordinator_that_does_not_answer_is_what_a_stable_member_waits_for() -> None:
    """After three intervals without a confirmation."""
    play = remembered()
    play.stable(0)
    play.now += 4 * INTERVAL_S
    assert "to answer: the last confirmation is" in play.explained()


def test_a_member_without_partitions_is_told_where_to_look() -> None:
    """Nothing was said to be waited for while another member had not released its partitions."""
    play = remembered()
    play.stable(0).told(orders())
    play.let_callbacks_return()
    play.answer(Heartbeat, accepted(2))
    text = play.explained()
    assert f"{NAME} is stable for 0.0 s, at epoch 2" in text
    assert "and owns nothing." in text
    assert "It waits for partitions: it has none, and none were announced to it so far." in text
    assert "`membership-client groups waiting g` tells whether another member still holds partitions for it." in text


def test_every_state_can_be_explained() -> None:
    """Also a leave under way, and a member that is closed."""
    play = remembered()
    play.stable(0)
    play.do(Unsubscribe(mode=LeaveMode.DEFAULT))
    play.let_callbacks_return()
    assert "It waits for the coordinator to confirm that it left." in play.explained()
    play.answer(LeaveGroup, GroupLeft())
    play.do(Close(mode=LeaveMode.DEFAULT, reason=None, timeout_s=5.0))
    text = play.explained()
    assert f"{NAME} is closed" in text
    assert "It waits for nothing." in text
