"""A conflict about an instance id that goes into another round: asked again, refused again, or without a holder by then."""

from __future__ import annotations

import pytest

from membership_client.core.events import (
    CoordinatorDoubted,
    DescribeGroup,
    DescribeSessionTimeout,
    FindCoordinator,
    GroupDescribed,
    Heartbeat,
    MemberDescription,
    Refused,
    SessionTimeoutDescribed,
)
from membership_client.core.instance_id_conflict import LONGEST_DEFAULT_SESSION_S, SESSION_MARGIN
from membership_client.types import MemberState
from tests.core.play import BROKER, INTERVAL_S, Play, accepted

S = MemberState
HELD, FENCED_INSTANCE_ID = 111, 82
THEM = GroupDescribed((MemberDescription(member_id="them", instance_id="i", client_id="c", host="h"),))
OURSELVES = GroupDescribed((MemberDescription(member_id="me", instance_id="i", client_id="c", host="h"),))
NOBODY = GroupDescribed(())


def contested(policy: str) -> Play:
    play = Play.new(group_instance_id="i", group_instance_id_conflict=policy).joining()
    play.answer(Heartbeat, Refused(HELD, "held."))
    return play


def test_a_former_self_that_holds_the_id_again_is_released_again() -> None:
    """The answer to a join was lost a second time; a member that waits must not wait for itself."""
    play = contested("wait")
    for _ in range(2):
        play.answer(DescribeGroup, OURSELVES)
        assert play.heartbeat().epoch == -2
        play.answer(Heartbeat, accepted(-2))
        play.answer(Heartbeat, Refused(HELD, "held."))
        play.advance(2.0)
    assert play.open(DescribeGroup).to == BROKER


def test_a_takeover_counts_from_its_first_refusal() -> None:
    """Another process that takes the id again and again does not make the member try for ever."""
    play = contested("takeover")
    began = play.now
    for _ in range(3):
        play.answer(DescribeGroup, THEM)
        play.answer(Heartbeat, accepted(-2))
        play.answer(Heartbeat, Refused(HELD, "held."))
        play.advance(2.0)
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.since == began
    assert play.member.id_conflict.give_up_at == began + LONGEST_DEFAULT_SESSION_S * SESSION_MARGIN


def test_a_wait_is_not_over_before_the_coordinator_refuses_once_more() -> None:
    """A coordinator that could not be reached in time says nothing about the holder, so the member goes on asking."""
    play = contested("wait")
    play.answer(DescribeGroup, THEM)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(20.0))
    play.advance(120.0)
    assert play.member.state is S.JOINING


@pytest.mark.parametrize("policy", ["takeover", "wait"])
def test_a_member_that_was_dropped_gets_its_free_id_back(policy: str) -> None:
    """No member has the id when the coordinator is asked: the member did not lose it to another one, and joins again."""
    play = Play.new(group_instance_id="i", group_instance_id_conflict=policy).stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.let_callbacks_return()
    play.answer(Heartbeat, Refused(HELD, "held."))
    play.answer(DescribeGroup, NOBODY)
    assert play.member.state is S.JOINING


def test_a_conflict_whose_time_is_over_is_won_if_no_member_holds_the_id() -> None:
    """The time limit is for a holder; without one the member joins again."""
    play = contested("takeover")
    play.now += LONGEST_DEFAULT_SESSION_S * SESSION_MARGIN
    play.answer(DescribeGroup, NOBODY)
    assert play.heartbeat().epoch == 0


def test_a_session_of_less_than_a_second_is_believed() -> None:
    """It was told, so it is not replaced by the longest default."""
    play = contested("wait")
    began = play.now
    play.answer(DescribeGroup, THEM)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(0.5))
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.give_up_at == began + 0.5 * SESSION_MARGIN + play.member.interval_s


def test_without_a_coordinator_the_holder_is_not_asked_for() -> None:
    """The question goes to the coordinator that is found, once it is found."""
    play = contested("wait")
    play.do(CoordinatorDoubted(BROKER))
    play.fail(DescribeGroup)
    assert all(isinstance(effect.request, FindCoordinator) for effect in play.open_sends())
    play.advance(2.0)
    play.find_coordinator()
    assert play.open(DescribeGroup).to == BROKER


def test_a_successor_is_told_of_in_the_words_of_the_broker() -> None:
    """They say more than the member knows."""
    play = Play.new(group_instance_id="i").stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(FENCED_INSTANCE_ID, "taken by c-7."))
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.detail == "taken by c-7."
