"""Revoke, then assign, then acknowledge."""

from __future__ import annotations

from uuid import UUID

from membership_client.core.events import (
    CallbackKind,
    CallbackReturned,
    Heartbeat,
    Rebalance,
    Refused,
    ResolveTopics,
    TellLost,
    TopicsResolved,
)
from membership_client.partitions import Partitions
from membership_client.types import CauseKind, MemberState, TopicPartition
from tests.core.play import BILLS, INTERVAL_S, NAMES, ORDERS, Play, accepted, orders

S = MemberState


def test_a_join_names_topics_calls_back_and_acknowledges() -> None:
    """The whole way from the first answer to STABLE."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0, 1)))
    assert play.member.state is S.RECONCILING
    assert play.callbacks() == []
    play.answer(ResolveTopics, TopicsResolved(NAMES))
    (call,) = play.callbacks()
    assert (call.kind, call.partitions) == (
        CallbackKind.ASSIGNED,
        (TopicPartition("orders", 0), TopicPartition("orders", 1)),
    )
    assert not play.member.owned
    play.returns()
    assert play.member.state is S.ACK
    assert play.heartbeat().owned == orders(0, 1)
    play.answer(Heartbeat, accepted(2))
    assert play.member.state is S.STABLE


def test_an_empty_join_is_announced() -> None:
    """Every join ends in an assigned callback, also with nothing, and says that more may come."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, Partitions()))
    (call,) = play.callbacks()
    assert (call.kind, call.partitions, call.provisional) == (CallbackKind.ASSIGNED, (), True)


def test_revoked_partitions_stay_ours_until_the_callback_returned() -> None:
    """The coordinator must not give them away while the application still commits."""
    play = Play.new().stable(0, 1).told(orders(0))
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    play.advance(INTERVAL_S)
    assert play.heartbeat().owned is None
    assert play.member.owned == orders(0, 1)
    play.answer(Heartbeat, accepted(2))
    play.returns()
    assert play.heartbeat().owned == orders(0)


def test_a_full_heartbeat_during_a_revoke_still_claims_what_is_being_revoked() -> None:
    """After a failure everything is said again, and what is still being revoked is still ours."""
    play = Play.new().stable(0, 1).told(orders(0))
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    assert play.heartbeat().owned == orders(0, 1)


def test_revoke_comes_before_assign_and_is_acknowledged_at_once() -> None:
    """What was given up is released before a slow assigned callback, so that others need not wait for it."""
    play = Play.new().stable(0, 1).told(orders(0, 5))
    play.returns()
    assert [call.kind for call in play.callbacks()] == [CallbackKind.REVOKED, CallbackKind.ASSIGNED]
    assert play.heartbeat().owned == orders(0, 5)
    play.answer(Heartbeat, accepted(3))
    play.returns()
    assert play.heartbeat().owned == orders(0, 5)


def test_a_new_target_during_a_callback_replaces_the_old_one() -> None:
    """The running callback is not cut short; what comes next is taken from the newest target."""
    play = Play.new().stable(0, 1, 2).told(orders(0, 1))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0)))
    play.returns()
    call = play.callbacks()[-1]
    assert (call.kind, call.partitions) == (CallbackKind.REVOKED, (TopicPartition("orders", 1),))
    play.returns()
    assert play.member.owned == orders(0)


def test_a_partition_that_comes_back_during_its_revoke_is_assigned_again() -> None:
    """The application has given it up by then, so it must be told."""
    play = Play.new().stable(0, 1).told(orders(0))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.ASSIGNED
    assert play.callbacks()[-1].partitions == (TopicPartition("orders", 1),)


def test_a_partition_withdrawn_during_its_assign_is_revoked_afterwards() -> None:
    """Exactly once assigned, exactly once revoked."""
    play = Play.new().stable(0).told(orders(0, 1))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0)))
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    assert play.callbacks()[-1].partitions == (TopicPartition("orders", 1),)


def test_a_target_that_came_and_went_is_acknowledged_without_a_callback() -> None:
    """Same partitions, but a new target: the coordinator waits for the owned list, the application need not know."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics().returns()
    play.answer(Heartbeat, accepted(2, Partitions.of({ORDERS: [0], BILLS: [3]})))
    play.effects.clear()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert play.callbacks() == []
    assert play.heartbeat().owned == orders(0)
    play.answer(Heartbeat, accepted(2))
    assert play.member.state is S.STABLE


def test_a_repeated_target_changes_nothing() -> None:
    """Full heartbeats are answered with the assignment again."""
    play = Play.new().stable(0)
    play.told(orders(0))
    assert (play.member.state, play.callbacks(), play.member.dialogue) == (S.STABLE, [], None)


def test_what_can_be_named_is_taken_while_the_rest_waits() -> None:
    """An unknown topic id holds up only itself; what was taken is acknowledged."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0, 1], BILLS: [0]})))
    play.answer(ResolveTopics, TopicsResolved({ORDERS: "orders"}))
    assert play.callbacks()[-1].partitions == (TopicPartition("orders", 1),)
    play.returns()
    assert play.member.state is S.RECONCILING
    assert play.heartbeat().owned == Partitions.of({ORDERS: [0, 1], BILLS: [0]})
    play.answer(Heartbeat, accepted(3))
    play.advance(INTERVAL_S * 2)
    play.answer(ResolveTopics, TopicsResolved({BILLS: "bills"}))
    assert play.callbacks()[-1].partitions == (TopicPartition("bills", 0),)


def test_names_are_asked_for_again_with_backoff() -> None:
    """A topic that is being created or deleted must not make a storm of metadata requests."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    for _ in range(20):
        play.answer(ResolveTopics, TopicsResolved({}))
        play.advance(INTERVAL_S * 1.3)
        if play.member.dialogue:
            play.answer(Heartbeat, accepted(2))
    asked = [send for send in play.sends() if isinstance(send.request, ResolveTopics)]
    assert len(asked) == 21


def test_a_new_target_replaces_one_that_waits_for_names() -> None:
    """The name of a topic that is no longer wanted is not waited for."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(4, orders(0)))
    play.answer(Heartbeat, accepted(4))
    assert play.member.state is S.STABLE


def test_a_deleted_topic_can_be_revoked() -> None:
    """The name of what we own is kept, whatever the broker's metadata says meanwhile."""
    play = Play.new().stable(0).told(Partitions())
    assert play.callbacks()[-1].partitions == (TopicPartition("orders", 0),)


def test_a_lost_ack_is_sent_again() -> None:
    """The coordinator waits for the owned list until it has it."""
    play = Play.new().stable(0, 1).told(orders(0))
    play.returns()
    assert play.heartbeat().owned == orders(0)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    assert play.heartbeat().owned == orders(0)
    assert play.member.state is S.ACK


def test_a_fence_during_a_callback_lets_it_finish_and_loses_the_rest() -> None:
    """The callback learns that it is too late; what it was given goes with it, everything else is lost once."""
    play = Play.new().stable(0, 1).told(orders(0))
    play.advance(INTERVAL_S)
    effects = play.answer(Heartbeat, Refused(110))
    assert [e for e in effects if isinstance(e, TellLost)]
    assert play.member.state is S.FENCED
    play.returns()
    lost = play.callbacks()[-1]
    assert (lost.kind, lost.partitions) == (CallbackKind.LOST, (TopicPartition("orders", 0),))
    play.returns()
    assert play.member.state is S.JOINING
    assert play.heartbeat().epoch == 0


def test_a_fence_during_an_assign_loses_what_it_brought() -> None:
    """The application set something up for these partitions, so it is told that they are gone."""
    play = Play.new().stable(0).told(orders(0, 1))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.returns()
    assert play.callbacks()[-1].partitions == (TopicPartition("orders", 0), TopicPartition("orders", 1))


def test_the_same_assignment_after_a_fence_is_a_new_one() -> None:
    """What was lost is assigned again, even if it is the same."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.returns()
    play.answer(Heartbeat, accepted(5, orders(0)))
    play.name_topics()
    assert play.callbacks()[-1].kind is CallbackKind.ASSIGNED
    assert play.callbacks()[-1].cause.kind is CauseKind.JOINED


def test_a_fence_with_nothing_owned_needs_no_callback() -> None:
    """Straight back to joining."""
    play = Play.new().stable()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    assert (play.member.state, play.callbacks()) == (S.JOINING, [])


def test_repeated_fences_back_off() -> None:
    """Brokers of 4.0 and 4.1 fence a repeated epoch 0: without a backoff that is a storm."""
    play = Play.new().stable()
    play.advance(INTERVAL_S)
    play.answer_check()
    sent = len(play.heartbeats())
    for _ in range(8):
        play.answer(Heartbeat, Refused(110))
        play.advance(5.0)
    assert len(play.heartbeats()) == sent + 8
    assert play.member.dialogue_backoff.failures >= 7


def test_an_old_callback_id_is_ignored() -> None:
    """A callback that returns twice, or late, changes nothing."""
    play = Play.new().stable(0, 1).told(orders(0))
    call_id = play.callbacks()[-1].call_id
    play.returns()
    before = play.member
    play.do(CallbackReturned(call_id))
    assert play.member == before


def test_a_topic_dropped_while_its_assign_runs_is_still_revoked_by_name() -> None:
    """Once its name was forgotten with the target, and the revoke callback was given nothing."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    play.name_topics()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(4, orders(0)))
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    assert play.callbacks()[-1].partitions == (TopicPartition("bills", 0),)


def test_a_timeout_ends_every_request_on_that_connection() -> None:
    """Otherwise the one that was forgotten would later drop the new, healthy connection."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, Partitions.of({ORDERS: [0], BILLS: [0]})))
    play.advance(INTERVAL_S)
    assert play.member.naming is not None
    assert play.member.dialogue is not None
    play.advance(5.0)
    assert (play.member.naming, play.member.dialogue) == (None, None)


def test_what_came_and_went_during_a_callback_is_acknowledged_although_the_owned_list_is_as_before() -> None:
    """While one heartbeat was under way a partition was taken and given back: the coordinator waits to hear of it."""
    play = Play.new().stable(0)
    play.told(orders(0, 1))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(play.member.epoch, orders(0)))
    play.advance(INTERVAL_S)
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.REVOKED
    play.returns()
    play.answer(Heartbeat, accepted(play.member.epoch))
    assert play.heartbeat().owned == orders(0)


def test_a_revoked_callback_is_told_until_when_it_may_take() -> None:
    """The coordinator waits for the rebalance timeout, which is the poll interval; without a deadline the application has no reason to hurry."""
    play = Play.new(max_poll_interval_ms=60_000).stable(0, 1).told(orders(0))
    assert play.callbacks()[-1].deadline == play.now + 60.0


def test_an_empty_share_after_a_second_join_is_announced_as_after_the_first() -> None:
    """Every join ends in an assigned callback, also that of a member which was fenced and is given nothing any more."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.returns()
    play.answer(Heartbeat, accepted(5, Partitions()))
    call = play.callbacks()[-1]
    assert (call.kind, call.partitions) == (CallbackKind.ASSIGNED, ())


def test_a_member_that_was_stable_since_its_last_fence_joins_again_at_once() -> None:
    """Only fences in a row back off: one a day must not make the member wait longer each time."""
    play = Play.new().stable(0)
    for _ in range(3):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, Refused(25))
        play.returns()
        play.answer(Heartbeat, accepted(5, orders(0)))
        play.name_topics().returns()
        play.answer(Heartbeat, accepted(5))
        assert play.member.state is S.STABLE


def test_a_callback_that_returns_again_does_not_end_the_next_one() -> None:
    """Its id tells which one it is: the assign that runs by then has not brought anything yet."""
    play = Play.new().stable(0, 1).told(orders(0, 5))
    revoked = play.callbacks()[-1].call_id
    play.returns()
    assert play.callbacks()[-1].kind is CallbackKind.ASSIGNED
    play.do(CallbackReturned(revoked))
    assert play.member.owned == orders(0)
    assert play.member.call is not None


def test_partitions_that_are_withdrawn_before_their_callback_are_released_at_once() -> None:
    """No callback will run for them, so the next heartbeat says everything that is held."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0, 1)))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0)))
    assert (play.heartbeat().topics, play.heartbeat().owned) == (("orders",), orders(0))


def test_partitions_that_are_added_before_their_callback_need_no_heartbeat() -> None:
    """Nothing was taken away that others would wait for."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    assert play.member.dialogue is None


def test_partitions_that_are_withdrawn_during_their_callback_are_revoked_after_it() -> None:
    """A list without them now would give them away while the application starts to work on them."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0, 1)))
    play.name_topics()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(3, orders(0)))
    assert play.member.dialogue is None
    play.returns()
    assert (play.callbacks()[-1].kind, play.callbacks()[-1].partitions) == (
        CallbackKind.REVOKED,
        (TopicPartition("orders", 1),),
    )


def test_names_of_topics_of_earlier_targets_are_forgotten() -> None:
    """A member that lives for months does not collect the names of all topics it ever had."""
    play = Play.new().stable(0)
    play.told(Partitions.of({BILLS: [0]})).let_callbacks_return()
    play.answer(Heartbeat, accepted(2))
    play.told(Partitions.of({BILLS: [0, 1]})).let_callbacks_return()
    assert play.member.names == {BILLS: "bills"}


def test_a_new_target_is_tried_at_once_though_the_callback_failed_for_the_last_one() -> None:
    """The pause is for a callback that would fail again, and this is another one."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    play.returns("ValueError: no")
    assert play.member.call is None
    play.do(Rebalance())
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    assert play.member.call is not None


def test_names_that_were_hard_to_get_are_asked_for_at_once_the_next_time() -> None:
    """The pauses between questions were for topics that the broker did not know yet."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    for _ in range(3):
        play.answer(ResolveTopics, TopicsResolved({}))
        play.advance(2.0)
    play.answer(ResolveTopics, TopicsResolved(NAMES))
    play.let_callbacks_return()
    play.told(Partitions.of({ORDERS: [0], UUID(int=3): [0]}))
    assert play.member.naming_backoff.failures == 1
