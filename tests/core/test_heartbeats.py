"""What a heartbeat says, and when it is sent."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from membership_client.core.events import (
    Answered,
    Disconnect,
    FailureKind,
    Heartbeat,
    KeeperReported,
    Refused,
    Subscribe,
)
from membership_client.core.heartbeats import EARLY_FRACTION
from membership_client.core.view import share_of, snapshot_of
from membership_client.partitions import NOTHING
from membership_client.types import CauseKind, MemberState, Share
from tests.core.play import BROKER, INTERVAL_S, Play, accepted, orders


def test_a_join_says_everything() -> None:
    """Epoch 0 carries every field the broker demands: timeout, names, an empty owned list, never a null pattern."""
    play = Play.new(group_instance_id="i", client_rack="r1", group_remote_assignor="uniform").joining("b", "a")
    assert play.heartbeat() == Heartbeat(
        group_id="g",
        member_id="me",
        epoch=0,
        instance_id="i",
        rack_id="r1",
        rebalance_timeout_s=300.0,
        topics=("a", "b"),
        regex="",
        assignor="uniform",
        owned=NOTHING,
    )


def test_a_join_by_pattern_states_no_names() -> None:
    """A pattern goes to the broker, with an empty list of names beside it."""
    play = Play.new()
    play.do(Subscribe(regex="orders-.*"))
    play.find_coordinator()
    assert (play.heartbeat().topics, play.heartbeat().regex) == ((), "orders-.*")


def test_a_quiet_heartbeat_says_nothing_new() -> None:
    """A stable member repeats only who it is; the instance id goes with every heartbeat."""
    play = Play.new(group_instance_id="i").stable(0, 1)
    play.advance(INTERVAL_S)
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=2, instance_id="i")


def test_after_a_lost_answer_the_next_heartbeat_says_everything() -> None:
    """The coordinator may or may not have seen the last one, and accepts an older epoch only with the owned list."""
    play = Play.new().stable(0, 1)
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    again = play.heartbeat()
    assert (again.owned, again.topics, again.rebalance_timeout_s) == (orders(0, 1), ("orders",), 300.0)
    assert again.epoch == 2


@pytest.mark.parametrize("code", [14, -1, 7, 16, 15])
def test_after_an_error_the_next_heartbeat_says_everything(code: int) -> None:
    """A refused heartbeat may have been half processed."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(code))
    play.advance(1.0)
    if play.member.coordinator is None:
        play.find_coordinator()
    assert play.heartbeat().owned == orders(0)


def test_a_changed_subscription_is_sent_at_once() -> None:
    """Users do not wait an interval for what they asked for; only the subscription is sent."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="me", epoch=2, topics=("bills", "orders"), regex="")


def stable_by_pattern() -> Play:
    play = Play.new()
    play.do(Subscribe(regex="o.*"))
    play.find_coordinator()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics().let_callbacks_return()
    play.answer(Heartbeat, accepted(2))
    return play


def test_a_pattern_is_removed_by_an_empty_one() -> None:
    """Null would leave the old pattern in force."""
    play = stable_by_pattern()
    play.do(Subscribe(frozenset({"orders"})))
    assert (play.heartbeat().topics, play.heartbeat().regex) == (("orders",), "")


def test_a_pattern_is_said_when_it_changes_and_only_then() -> None:
    """Brokers evaluate it anew whenever it is stated; another one is stated at once."""
    play = stable_by_pattern()
    play.do(Subscribe(regex="o.*"))
    assert play.member.dialogue is None
    play.advance(INTERVAL_S)
    assert play.heartbeat().regex is None
    play.answer(Heartbeat, accepted(2))
    play.do(Subscribe(regex="b.*"))
    assert (play.heartbeat().topics, play.heartbeat().regex) == ((), "b.*")


def test_never_two_heartbeats_in_flight() -> None:
    """Whatever changes meanwhile waits for the answer."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.do(Subscribe(frozenset({"bills"})))
    assert len(play.open_sends()) == 1
    play.answer(Heartbeat, accepted(2))
    assert play.heartbeat().topics == ("bills",)


def test_a_stable_member_keeps_to_the_interval() -> None:
    """No early heartbeats once nothing is owed: five intervals, five heartbeats."""
    play = Play.new().stable(0)
    for _ in range(50):
        play.advance(INTERVAL_S / 10)
        if play.member.dialogue:
            play.answer(Heartbeat, accepted(2))
    assert len(play.heartbeats()) == 5


def test_the_brokers_interval_is_adopted_from_every_answer() -> None:
    """An operator may change it at run time."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2, interval_s=1.0))
    play.advance(1.0)
    assert len(play.heartbeats()) == 2


@pytest.mark.parametrize("interval_s", [0.0, -3.0, 0.001, 2_147_483.0])
def test_an_absurd_interval_is_passed_over(interval_s: float) -> None:
    """A millisecond would make a storm of heartbeats, and four weeks none at all: the bug was that both were believed."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2, interval_s=interval_s))
    assert play.member.interval_s == INTERVAL_S


@pytest.mark.parametrize("epoch", [-1, -7, 0, 1])
def test_an_epoch_that_goes_back_is_not_believed(epoch: int) -> None:
    """The member keeps its epoch, says everything again, and does so with a backoff."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    sent = len(play.heartbeats())
    play.answer(Heartbeat, accepted(epoch, orders(5)))
    assert (play.member.epoch, play.member.target and play.member.target.partitions) == (2, orders(0))
    assert len(play.heartbeats()) == sent
    play.advance(1.0)
    assert play.heartbeat().owned == orders(0)


def test_epochs_may_repeat_and_jump() -> None:
    """Batched assignment makes both normal."""
    play = Play.new().stable(0)
    for epoch in (2, 2, 9):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(epoch))
        assert (play.member.epoch, play.member.state) == (epoch, MemberState.STABLE)


def test_an_answer_that_is_no_longer_expected_is_ignored() -> None:
    """An answer to a request that timed out must not set the epoch."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    late = play.open(Heartbeat)
    play.fail(Heartbeat)
    before = play.member
    play.do(Answered(late.request_id, accepted(99, orders())))
    assert play.member == before


def test_throttling_is_honoured() -> None:
    """Nothing is sent to the coordinator before the time it asked for."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2), throttle_s=60.0)
    sent = len(play.heartbeats())
    play.do(Subscribe(frozenset({"bills"})))
    play.advance(59.0)
    assert len(play.heartbeats()) == sent
    play.advance(2.0)
    assert len(play.heartbeats()) == sent + 1


def test_a_joiner_with_nothing_is_owed_and_asks_early_with_backoff() -> None:
    """An empty first assignment is provisional: early heartbeats, ever rarer, until the interval is reached."""
    play = Play.new().stable()
    assert play.member.owed_gap_s is not None
    times = []
    for _ in range(40):
        play.advance(INTERVAL_S if play.member.owed_gap_s is None else play.member.owed_gap_s)
        times.append(play.now)
        play.answer(Heartbeat, accepted(2))
    gaps = [round(b - a, 6) for a, b in itertools.pairwise(times)]
    assert gaps[0] < 2 * INTERVAL_S * EARLY_FRACTION
    assert gaps == sorted(gaps)
    assert gaps[-1] == INTERVAL_S
    assert play.member.owed_gap_s is None


def test_an_empty_share_is_pending_first_and_none_later() -> None:
    """A share that is not known yet is told apart from an empty one."""
    play = Play.new().stable()
    assert share_of(play.member) is Share.PENDING
    for _ in range(30):
        play.advance(INTERVAL_S)
        play.answer(Heartbeat, accepted(2))
        play.answer_check()
    assert share_of(play.member) is Share.NONE


def test_partitions_that_come_while_owed_make_the_member_ask_on() -> None:
    """Others release one by one: after the first partitions more may follow soon."""
    play = Play.new().stable()
    play.told(orders(0), epoch=3).let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    assert play.member.owed_gap_s is not None
    assert play.member.owed_gap_s <= INTERVAL_S * EARLY_FRACTION * 1.25**2


def test_a_full_first_share_is_not_owed_anything() -> None:
    """A joiner that got partitions at once keeps to the interval from the start."""
    assert Play.new().stable(0).member.owed_gap_s is None


def test_epoch_zero_without_an_error_repeats_the_whole_join() -> None:
    """Librdkafka's mock coordinator answers a joiner that must wait like this; a bare epoch 0 would be refused there."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(0))
    assert play.member.state is MemberState.JOINING
    assert play.member.dialogue is None
    play.advance(INTERVAL_S)
    assert play.heartbeat().topics == ("orders",)
    play.answer(Heartbeat, accepted(0))
    gap = play.member.owed_gap_s
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(0))
    assert gap is not None
    assert play.member.owed_gap_s is not None
    assert gap < play.member.owed_gap_s <= INTERVAL_S


def test_a_new_topic_makes_the_member_ask_early() -> None:
    """After a change of subscription partitions are expected, so the member does not wait a whole interval for them."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    play.answer(Heartbeat, accepted(2))
    assert play.member.owed_gap_s is not None
    play.advance(1.0)
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    assert play.member.cause is not None
    assert play.member.cause.kind is CauseKind.GROUP_CHANGED


def test_a_request_timeout_drops_the_connection_and_looks_for_the_coordinator() -> None:
    """Kafka answers in order, so what is stuck stays stuck on that connection."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    effects = play.advance(10.0)
    assert Disconnect(BROKER) in effects
    assert play.member.coordinator is None
    assert play.member.problem is not None
    assert "did not answer" in play.member.problem.detail


def _hangs_up(play: Play) -> None:
    play.fail(Heartbeat)


def _says_nothing(play: Play) -> None:
    play.advance(play.member.request_timeout_s)


@pytest.mark.parametrize("goes_wrong", [_hangs_up, _says_nothing])
def test_a_heartbeat_without_an_answer_is_repeated_with_a_backoff(goes_wrong: Callable[[Play], None]) -> None:
    """However soon a coordinator is found again, and longer each time: it may be the one that cannot answer."""
    play, waits = Play.new().stable(0), list[float]()
    play.advance(INTERVAL_S)
    for sent in (1, 2, 3):
        goes_wrong(play)
        assert play.member.coordinator is None
        play.find_coordinator()
        waits.append(play.member.dialogue_backoff.not_before - play.now)
        play.advance(waits[-1] * 0.99)
        assert len(play.heartbeats()) == sent
        play.advance(waits[-1] * 0.02)
        assert len(play.heartbeats()) == sent + 1
    assert 0.0 < waits[0] < waits[1] < waits[2]


def test_an_unsupported_heartbeat_is_fatal() -> None:
    """A broker without KIP-848 will not learn it by being asked again."""
    play = Play.new(group_protocol="consumer").joining()
    play.fail(Heartbeat, FailureKind.UNSUPPORTED)
    assert play.member.state is MemberState.FATAL


def test_early_heartbeats_make_room_when_answers_are_slow() -> None:
    """A thousand members that all ask early must not keep each other from being answered."""
    play = Play.new().stable()
    play.advance(0.11)
    play.now += 0.8
    play.answer(Heartbeat, accepted(2))
    sent = len(play.heartbeats())
    play.advance(3.0)
    assert len(play.heartbeats()) == sent
    play.advance(1.5)
    assert len(play.heartbeats()) == sent + 1


def test_the_first_epoch_of_a_group_is_one() -> None:
    """The first member of a new group is let in at epoch 1, which is no epoch that went back."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(1, orders(0)))
    assert (play.member.state, play.member.epoch) == (MemberState.RECONCILING, 1)


def test_a_coordinator_that_makes_a_joiner_wait_has_answered() -> None:
    """The snapshot shows when it was last heard of, so that waiting does not look like silence."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(0))
    assert snapshot_of(play.member, play.now + 1.0).heartbeat_age_s == 1.0


def test_an_answer_confirms_the_member_as_of_its_question() -> None:
    """The bug: an answer that had lain unread while the process stood still was a confirmation of that moment.

    Applications of GroupMember that look at its age worked on records of partitions that were others' by then.
    """
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.advance(4.0)
    play.answer(Heartbeat, accepted(2))
    assert snapshot_of(play.member, play.now).heartbeat_age_s == 4.0


def test_an_answer_does_not_take_back_what_the_keeper_was_told_later() -> None:
    """The keeper asked while the interpreter was held, and this member's own heartbeat was under way all the time."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    sent_at = play.now
    play.advance(4.0)
    play.do(KeeperReported(2, 2, sent_at + 3.0))
    play.answer(Heartbeat, accepted(2))
    assert snapshot_of(play.member, play.now).heartbeat_age_s == 1.0


def test_a_target_that_shrinks_does_not_make_the_member_ask_early_again() -> None:
    """Only what comes is a sign that more may come."""
    play = Play.new().stable()
    play.told(orders(0, 1), epoch=3).let_callbacks_return()
    play.answer(Heartbeat, accepted(3))
    before = play.member.owed_gap_s
    assert before is not None
    play.told(orders(0), epoch=4)
    assert play.member.owed_gap_s is not None
    assert play.member.owed_gap_s > before


def test_a_target_that_comes_with_a_new_subscription_is_caused_by_it() -> None:
    """The application reads in its callback that it was its own doing."""
    play = Play.new().stable(0)
    play.do(Subscribe(frozenset({"orders", "bills"})))
    play.answer(Heartbeat, accepted(3, orders(0, 1)))
    assert play.member.cause is not None
    assert play.member.cause.kind is CauseKind.SUBSCRIPTION_CHANGED
