"""What the simulation found in the core: the shortest way to each, kept for good."""

from __future__ import annotations

import itertools

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackKind,
    DescribeGroup,
    DescribeSessionTimeout,
    FailureKind,
    GroupDescribed,
    Heartbeat,
    MemberDescription,
    Refused,
    ResolveTopics,
    SessionTimeoutDescribed,
    TopicsResolved,
    Unsubscribe,
)
from membership_client.errors import ProblemKind
from membership_client.types import MemberState
from tests.core.play import INTERVAL_S, Play, accepted, orders
from tests.simulation.generate import script_of
from tests.simulation.play import play as play_script

S = MemberState
HELD = GroupDescribed((MemberDescription(member_id="them", instance_id="i", client_id="c", host="h"),))


def test_a_keeper_that_was_paused_before_it_sent_disclaims_nothing() -> None:
    """Its heartbeat told the coordinator seconds later what the member had owned once; the rest was taken for free."""
    play_script(script_of(7_001_328))


def test_a_partition_that_a_callback_is_bringing_is_not_disclaimed() -> None:
    """A full heartbeat during an assigned callback must list what it brings: the coordinator takes silence for release."""
    play = Play.new().stable(0).told(orders(0, 5))
    assert play.callbacks()[-1].kind is CallbackKind.ASSIGNED
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    assert play.heartbeat().owned == orders(0, 5)


def test_a_partition_that_is_about_to_be_taken_is_not_disclaimed() -> None:
    """The names may come, and the callback may start, while a heartbeat without the partition is still under way."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    assert play.heartbeat().owned == orders(0)


def test_a_partition_that_is_wanted_no_more_is_ours_until_its_callback_returned() -> None:
    """A new target without it must not release a partition that an assigned callback is still bringing."""
    play = Play.new().stable(0).told(orders(0, 5)).told(orders(0))
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    assert play.heartbeat().owned == orders(0, 5)


def test_a_keepalive_on_the_way_out_does_not_disclaim_either() -> None:
    """A member that leaves during an assigned callback gives the callback's partitions back after it, and not before."""
    play = Play.new().stable(0).told(orders(0, 5))
    play.do(Unsubscribe())
    play.advance(INTERVAL_S)
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    play.advance(INTERVAL_S)
    assert play.heartbeat().owned == orders(0, 5)


def test_a_callback_that_raises_does_not_hide_why_the_member_ended() -> None:
    """The fatal cause decides whether subscribe() may start over, so a later failure must not replace it."""
    play = Play.new(group_instance_id="i").stable(0).told(orders(0, 5))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(Code.FENCED_INSTANCE_ID, "taken over"))
    play.answer(DescribeGroup, HELD)
    play.returns(error="RuntimeError: no")
    assert play.member.state is S.FATAL
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.FENCED_INSTANCE_ID


@pytest.mark.parametrize("retry_when_full_s", [None, 1.0])
def test_a_member_that_a_full_group_forgot_loses_its_partitions(retry_when_full_s: float | None) -> None:
    """Kafka looks whether a group is full before it looks whether it knows the member: 81 then means "expelled"."""
    play = Play.new(retry_when_full_s=retry_when_full_s).stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(Code.GROUP_MAX_SIZE_REACHED, "full"))
    assert play.member.state is S.FENCED
    assert play.callbacks()[-1].kind is CallbackKind.LOST


def test_a_wait_for_an_instance_id_is_not_given_up_unheard() -> None:
    """A process that slept, or could not reach the coordinator, asks once more before it ends."""
    play = Play.new(group_instance_id="i").joining()
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID, "held"))
    play.answer(DescribeGroup, HELD)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(10.0))
    play.fail(Heartbeat, FailureKind.DISCONNECTED)
    play.now += 60.0
    play.advance(1.0)
    play.find_coordinator()
    play.answer(Heartbeat, accepted(2, orders(0)))
    assert play.member.state is S.RECONCILING


def test_a_wait_for_an_instance_id_ends_with_a_late_refusal() -> None:
    """The wait is bounded all the same: who is still refused after the holder's session should have ended gives up."""
    play = Play.new(group_instance_id="i").joining()
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID, "held"))
    play.answer(DescribeGroup, HELD)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(10.0))
    play.now += 60.0
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID, "held"))
    play.advance(1.0)
    play.answer(DescribeGroup, HELD)
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.INSTANCE_ID_IN_USE)


def test_a_late_refusal_because_of_our_own_lost_join_is_not_the_end() -> None:
    """Seed 7721: the join that was let in lost its answer, and the next one was refused by the id's holder: ourselves."""
    play = Play.new(group_instance_id="i").joining()
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID, "held"))
    play.answer(DescribeGroup, HELD)
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(10.0))
    play.now += 60.0
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID, "owned by me"))
    play.advance(1.0)
    me = MemberDescription(member_id=play.member.member_id, instance_id="i", client_id="c", host="h")
    play.answer(DescribeGroup, GroupDescribed((me,)))
    assert play.heartbeat().epoch == -2
    play.answer(Heartbeat, accepted(-2))
    play.answer(Heartbeat, accepted(4, orders(0)))
    assert play.member.state is S.RECONCILING


def test_a_topic_without_a_known_name_is_asked_for_ever_less_often() -> None:
    """A deleted topic may stay in a target for a while: each answer without its name doubles the pause."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    asked_at = []
    for _ in range(5):
        asked_at.append(play.now)
        play.answer(ResolveTopics, TopicsResolved({}))
        while play.member.naming is None:
            play.advance(0.01)
    pauses = [later - earlier for earlier, later in itertools.pairwise(asked_at)]
    assert all(later > earlier * 1.3 for earlier, later in itertools.pairwise(pauses))


def test_what_a_failing_callback_never_brought_is_given_back_when_it_is_wanted_back() -> None:
    """Found by a real incident: a member whose assigned callback kept failing held back the partitions it never owned."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0, 1, 2, 3)))
    play.name_topics()
    play.returns(error="ValueError: not today")
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2, orders(0, 1)))
    if play.member.call is not None:
        play.returns(error="ValueError: not today")
    assert play.heartbeat().owned == orders(0, 1)


def test_what_has_no_name_is_given_back_when_it_is_wanted_back() -> None:
    """The same for a topic whose name the broker does not tell."""
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0, 1, 2, 3)))
    play.answer(ResolveTopics, TopicsResolved({}))
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2, orders(0, 1)))
    assert play.heartbeat().owned == orders(0, 1)


@pytest.mark.parametrize("policy", ["wait", "takeover", "fail"])
def test_who_lost_its_instance_id_does_not_fight_for_it(policy: str) -> None:
    """Found on a real broker: fenced by its epoch in the middle of a takeover, it came back and waited, or took it back."""
    play = Play.new(group_instance_id="i", group_instance_id_conflict=policy).stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(Code.FENCED_MEMBER_EPOCH))
    play.returns()
    play.advance(1.0)
    play.answer(Heartbeat, Refused(Code.UNRELEASED_INSTANCE_ID, "owned by them"))
    play.answer(DescribeGroup, HELD)
    assert play.member.problem is not None
    assert (play.member.state, play.member.problem.kind) == (S.FATAL, ProblemKind.FENCED_INSTANCE_ID)
    assert play.member.problem.holder is not None
