"""What a conflict about an instance id says, and how it ends, in each of its ways."""

from __future__ import annotations

import pytest

from membership_client.core.events import (
    ClassicHeartbeat,
    Close,
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    FailureKind,
    GroupDescribed,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    MemberDescription,
    MemberIdGiven,
    Refused,
    SessionTimeoutDescribed,
)
from membership_client.core.instance_id_conflict import LONGEST_DEFAULT_SESSION_S, SESSION_MARGIN
from membership_client.core.member import IdConflictStep
from membership_client.errors import ProblemKind
from membership_client.types import Holder, MemberState
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted
from tests.core.play import INTERVAL_S, Play, accepted, orders

S = MemberState
HOLDER = Holder("them", "their-client", "/10.0.0.7")
HELD, FENCED_INSTANCE_ID = 111, 82
GROUP = GroupDescribed(
    (MemberDescription(member_id="them", instance_id="i", client_id="their-client", host="/10.0.0.7"),)
)
NOBODY = GroupDescribed(())


def contested(policy: str) -> Play:
    play = Play.new(group_instance_id="i", group_instance_id_conflict=policy).joining()
    play.answer(Heartbeat, Refused(HELD, "first words."))
    return play


def detail(play: Play) -> str:
    assert play.member.problem is not None
    return play.member.problem.detail


def test_the_newest_words_of_the_broker_are_shown() -> None:
    """They name the holder of now, not that of an hour ago."""
    play = contested("wait")
    assert detail(play) == "first words."
    play.answer(DescribeGroup, GROUP)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(20.0))
    play.answer(Heartbeat, Refused(HELD, "second words."))
    assert detail(play) == "second words."


def test_a_release_that_is_refused_is_told() -> None:
    """An operator sees why the takeover does not come."""
    play = contested("takeover")
    play.answer(DescribeGroup, GROUP)
    play.answer(Heartbeat, Refused(30))
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.detail == "first words. (its release was refused: GROUP_AUTHORIZATION_FAILED)"
    assert play.member.id_conflict.step is IdConflictStep.RETRY
    assert play.member.dialogue_backoff.not_before > play.now


@pytest.mark.parametrize("told_s", [20.0, 0.0, -1.0])
def test_a_wait_lasts_as_long_as_the_holders_session_may(told_s: float) -> None:
    """From the first refusal on, with a margin and an interval; a broker that tells nonsense has the longest default."""
    play = contested("wait")
    began = play.now
    play.advance(0.25)
    play.answer(DescribeGroup, GROUP)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(told_s))
    session_s = told_s if told_s > 0 else LONGEST_DEFAULT_SESSION_S
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.give_up_at == began + session_s * SESSION_MARGIN + play.member.interval_s
    assert play.member.id_conflict.holder == HOLDER


@pytest.mark.parametrize("policy", ["fail", "takeover", "wait"])
def test_a_holder_that_is_gone_by_then_is_no_reason_to_end(policy: str) -> None:
    """The id is free: the join is made again."""
    play = contested(policy)
    play.answer(DescribeGroup, NOBODY)
    if policy == "wait":
        play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(20.0))
    assert (play.heartbeat().member_id, play.heartbeat().epoch) == ("me", 0)


def test_a_wait_without_a_known_holder_asks_for_it_again() -> None:
    """The holder of the first refusal was gone when it was asked for, and another came."""
    play = contested("wait")
    play.answer(DescribeGroup, NOBODY)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(20.0))
    play.answer(Heartbeat, Refused(HELD, "held."))
    play.advance(2.0)
    play.answer(DescribeGroup, GROUP)
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.holder == HOLDER


@pytest.mark.parametrize("policy", ["takeover", "wait"])
def test_who_was_dropped_and_finds_its_id_taken_has_lost_it(policy: str) -> None:
    """The newcomer wins under every policy, or two processes would fight over the id for ever."""
    play = Play.new(group_instance_id="i", group_instance_id_conflict=policy).stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    play.let_callbacks_return()
    play.answer(Heartbeat, Refused(HELD, "held."))
    play.answer(DescribeGroup, GROUP)
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind, problem.holder) == (S.FATAL, ProblemKind.FENCED_INSTANCE_ID, HOLDER)


def test_a_takeover_that_takes_too_long_ends_and_names_the_holder_of_now() -> None:
    """Another process takes the id again and again."""
    play = contested("takeover")
    play.now += LONGEST_DEFAULT_SESSION_S * SESSION_MARGIN
    play.answer(DescribeGroup, GROUP)
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind, problem.holder) == (S.FATAL, ProblemKind.INSTANCE_ID_IN_USE, HOLDER)


@pytest.mark.parametrize("policy", ["takeover", "fail"])
def test_who_does_not_wait_gives_up_after_the_longest_session(policy: str) -> None:
    """By then a holder that does not live any more has lost the id."""
    play = contested(policy)
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.give_up_at == play.now + LONGEST_DEFAULT_SESSION_S * SESSION_MARGIN


def test_a_takeover_that_takes_too_long_ends_also_if_no_holder_can_be_named() -> None:
    """The broker does not describe the group."""
    play = contested("takeover")
    play.now += LONGEST_DEFAULT_SESSION_S * SESSION_MARGIN
    play.answer(DescribeGroup, Refused(30))
    assert play.member.state is S.FATAL


def test_a_superseded_member_sends_no_leave_request_for_its_successor() -> None:
    """The instance id is another's by now: a leave in its name would throw that one out."""
    play = Play.new(group_instance_id="i").stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(FENCED_INSTANCE_ID))
    assert (play.member.enrolled, play.member.epoch) == (False, 0)
    play.do(Close(timeout_s=5.0))
    play.let_callbacks_return()
    assert not any(isinstance(send.request, LeaveGroup) for send in play.sends())
    assert all(beat.epoch >= 0 for beat in play.heartbeats())


def test_a_superseded_member_waits_a_request_timeout_for_the_name_of_its_successor() -> None:
    """Then it ends without: with the epoch that it had."""
    play = Play.new(group_instance_id="i").stable(0, epoch=9)
    play.advance(INTERVAL_S)
    began = play.now
    play.answer(Heartbeat, Refused(FENCED_INSTANCE_ID))
    contest = play.member.id_conflict
    assert contest is not None
    assert (contest.since, contest.give_up_at, contest.epoch) == (began, began + play.member.request_timeout_s, 9)
    assert contest.detail == "group.instance.id i was taken over."
    play.let_callbacks_return()
    play.advance(play.member.request_timeout_s)
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind, problem.epoch) == (S.FATAL, ProblemKind.FENCED_INSTANCE_ID, 9)


def test_a_classic_member_whose_successor_cannot_be_named_ends_all_the_same() -> None:
    """The question is the conflict's, and not the one about strategies, which is asked by the same request."""
    play = ClassicPlay.new(group_instance_id="i").stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(FENCED_INSTANCE_ID))
    play.let_callbacks_return()
    play.fail(DescribeClassicGroup, FailureKind.UNSUPPORTED)
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind) == (S.FATAL, ProblemKind.FENCED_INSTANCE_ID)


# --- strategies that do not match ------------------------------------------------------------------------------------


def mismatched() -> ClassicPlay:
    """No strategy is common to all members, and it asks which the group assigns by."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, Refused(23))
    return play


def test_a_group_that_tells_its_strategy_while_it_rebalances_is_believed() -> None:
    """There is nothing to wait for."""
    play = mismatched()
    play.answer(DescribeClassicGroup, GroupDescribed((), state="PreparingRebalance", assignor="roundrobin"))
    assert play.member.state is S.FATAL
    assert detail(play) == "This member offers range, and group g assigns by roundrobin."


def test_a_group_that_does_not_tell_its_strategy_while_it_rebalances_is_asked_again() -> None:
    """For a while; then the member ends without knowing it."""
    play = mismatched()
    play.answer(DescribeClassicGroup, GroupDescribed((), state="PreparingRebalance"))
    assert play.member.state is S.JOINING
    assert play.member.dialogue_backoff.not_before > play.now
    play.advance(2.0)
    assert play.join_request().member_id == "given"
    assert play.member.classic.mismatched_at is not None
    play.now += 3600.0
    play.answer(JoinGroup, Refused(23))
    play.answer(DescribeClassicGroup, GroupDescribed((), state="PreparingRebalance"))
    assert play.member.state is S.FATAL
    assert detail(play) == "This member offers range, and group g assigns by none of these."


@pytest.mark.parametrize("answer", [Refused(69), Refused(23), GroupDescribed((), state="Dead")])
def test_a_group_of_another_kind_is_called_so(answer: Refused | GroupDescribed) -> None:
    """Another strategy would not help."""
    play = mismatched()
    play.answer(DescribeClassicGroup, answer)
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.GROUP_TYPE
    assert detail(play) == "Group g is not a classic group."


def test_accepted_after_a_contest_means_that_it_is_over() -> None:
    """Nothing of it is shown any more."""
    play = contested("takeover")
    play.answer(DescribeGroup, GROUP)
    play.answer(Heartbeat, accepted(-2))
    play.answer(Heartbeat, accepted(7, orders(0)))
    assert (play.member.id_conflict, play.member.problem, play.member.epoch) == (None, None, 7)


def test_a_join_that_succeeds_after_a_mismatch_ends_it() -> None:
    """The next one has the whole patience again."""
    play = mismatched()
    play.answer(DescribeClassicGroup, GroupDescribed((), state="PreparingRebalance"))
    play.advance(2.0)
    play.answer(JoinGroup, admitted())
    assert play.member.classic.mismatched_at is None
