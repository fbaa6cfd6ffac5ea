"""The times that the documents promise, as numbers: a change of one of them is a change that users notice."""

from __future__ import annotations

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CoordinatorDoubted,
    DescribeClassicGroup,
    DescribeTopics,
    GroupDescribed,
    Heartbeat,
    HeartbeatAccepted,
    JoinGroup,
    Refused,
    Subscribe,
    TopicsDescribed,
)
from membership_client.subscriptions import TopicLayout
from membership_client.types import MemberState
from tests.core.classic_play import ClassicPlay
from tests.core.play import BROKER, INTERVAL_S, Play, accepted, orders

S = MemberState
HELD = 111


def ask_until_calm(play: Play) -> list[float]:
    """The seconds after the join at which it asked early, until it kept to the interval."""
    began, times = play.now, list[float]()
    while play.member.owed_gap_s is not None:
        play.advance(play.member.owed_gap_s)
        times.append(play.now - began)
        play.answer(Heartbeat, accepted(2))
        play.answer_check()
    return times


def test_a_member_that_was_given_nothing_asks_twenty_times_in_the_first_interval() -> None:
    """As the design says: first after a fiftieth of it, then a little less often each time, and soon not at all."""
    times = ask_until_calm(Play.new().stable())
    assert times[0] == pytest.approx(INTERVAL_S / 50 * 1.08)
    assert (sum(at <= INTERVAL_S for at in times), len(times)) == (20, 26)
    assert times[-1] == pytest.approx(15.4, abs=0.1)


def test_slow_answers_make_a_member_ask_less_often() -> None:
    """An early heartbeat leaves a gap of five times what the last answer took."""
    play = Play.new().stable()
    assert play.member.owed_gap_s is not None
    play.advance(play.member.owed_gap_s)
    asked = play.now
    play.now += 0.5
    play.answer(Heartbeat, accepted(2))
    assert play.member.heartbeat_due == pytest.approx(asked + 2.5)


@pytest.mark.parametrize(("told_s", "kept"), [(0.019, False), (0.02, True), (600.0, True), (600.5, False)])
def test_heartbeat_intervals_from_20_ms_to_ten_minutes_are_believed(told_s: float, kept: bool) -> None:
    """Less would be a storm, and after more the coordinator would have forgotten the member."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, HeartbeatAccepted(epoch=2, interval_s=told_s))
    assert play.member.interval_s == (told_s if kept else INTERVAL_S)


@pytest.mark.parametrize("policy", ["takeover", "fail"])
def test_an_instance_id_is_fought_for_no_longer_than_66_seconds(policy: str) -> None:
    """The longest session that brokers allow by default, and a tenth more, because they end sessions late."""
    play = Play.new(group_instance_id="i", group_instance_id_conflict=policy).joining()
    play.answer(Heartbeat, Refused(HELD))
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.give_up_at == pytest.approx(play.now + 66.0)


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
@pytest.mark.parametrize(("waited_s", "ends"), [(9.9, False), (10.0, True)])
def test_a_group_that_does_not_tell_its_strategy_is_waited_for_for_ten_seconds(
    state: str, waited_s: float, ends: bool
) -> None:
    """After that the member says that it cannot join, without knowing what the group assigns by."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, Refused(Code.INCONSISTENT_GROUP_PROTOCOL))
    play.now += waited_s
    play.answer(DescribeClassicGroup, GroupDescribed((), state=state))
    assert play.member.state is (S.FATAL if ends else S.JOINING)


def test_a_topic_that_does_not_exist_is_looked_for_every_five_seconds() -> None:
    """By the leader of a classic group, so that a new topic has readers soon."""
    play = ClassicPlay.new().leading({})
    play.stays(4.9)
    assert play.member.survey is None
    play.stays(0.2)
    assert play.member.survey is not None


@pytest.mark.parametrize(("throttle_s", "waits_s"), [(0.5, 0.5), (60.0, 60.0), (3600.0, 60.0)])
def test_a_throttle_is_kept_to_for_up_to_a_minute(throttle_s: float, waits_s: float) -> None:
    """No quota holds clients back for longer, and after that the group would not know the member any more."""
    play = Play.new().stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2), throttle_s=throttle_s)
    sent = len(play.heartbeats())
    play.do(Subscribe(frozenset({"bills"})))
    play.advance(waits_s - 0.1)
    assert len(play.heartbeats()) == sent
    play.advance(0.2)
    assert play.heartbeat().topics == ("bills",)


def test_a_joiner_that_must_wait_asks_ever_less_often_up_to_the_interval() -> None:
    """A coordinator that answers a join with epoch 0 has not let the member in yet."""
    play, waits = Play.new().joining(), list[float]()
    for _ in range(40):
        play.answer(Heartbeat, accepted(0))
        waits.append(round(play.member.dialogue_backoff.not_before - play.now, 6))
        play.advance(waits[-1] + 0.001)
        assert play.heartbeat().topics == ("orders",)
    assert waits[0] == pytest.approx(INTERVAL_S / 50 * 1.08)
    assert (waits == sorted(waits), waits[-1]) == (True, INTERVAL_S)
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert play.member.owed_gap_s == INTERVAL_S / 50, "what others still hold may follow soon"


def test_a_coordinator_that_is_doubted_is_looked_for_at_once() -> None:
    """The next heartbeat would find out as well, but only seconds later."""
    play = Play.new().stable(0)
    play.do(CoordinatorDoubted(BROKER))
    assert play.member.lookup is not None


def test_a_classic_member_looks_at_its_topics_every_five_minutes() -> None:
    """The default of `metadata.max.age.ms`; a topic that was replaced must not be read on for longer."""
    play = ClassicPlay.new().leading({"orders": TopicLayout(1)})
    play.stays(299.0)
    assert play.member.survey is None
    play.stays(2.0)
    play.answer(DescribeTopics, TopicsDescribed({"orders": TopicLayout(1)}))
    assert play.member.state is S.STABLE


def test_a_missing_topic_is_looked_up_after_two_seconds_and_then_every_five() -> None:
    """As the design says: a member that gets its partitions in time asks nothing."""
    play = Play.new().stable()
    missing = TopicsDescribed({}, unknown=frozenset({"orders"}))
    play.advance(1.9)
    assert play.member.checking is None
    play.advance(0.2)
    play.answer_check(missing)
    play.answer_check(TopicsDescribed({}))
    play.advance(4.9)
    assert play.member.checking is None
    play.advance(0.2)
    assert play.member.checking is not None
