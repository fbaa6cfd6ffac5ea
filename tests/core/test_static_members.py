"""Instance ids: contests, policies, and the hole in which a member meets its former self."""

from __future__ import annotations

import pytest

from membership_client.core.events import (
    CallbackKind,
    Close,
    DescribeGroup,
    DescribeSessionTimeout,
    FailureKind,
    GroupDescribed,
    Heartbeat,
    MemberDescription,
    Refused,
    SessionTimeoutDescribed,
    Subscribe,
)
from membership_client.core.view import snapshot_of
from membership_client.errors import FencedInstanceIdError, InstanceIdInUseError, ProblemKind, error_for
from membership_client.types import Holder, MemberState
from tests.core.play import INTERVAL_S, Play, accepted, orders

S = MemberState
HOLDER = Holder("them", "their-client", "/10.0.0.7")
TAKEN = Refused(111, "the instance id is owned by them.")


def group(member_id: str = "them") -> GroupDescribed:
    return GroupDescribed(
        (
            MemberDescription(member_id="bystander", instance_id="j", client_id="c", host="h"),
            MemberDescription(member_id=member_id, instance_id="i", client_id="their-client", host="/10.0.0.7"),
        )
    )


def contested(policy: str) -> Play:
    play = Play.new(group_instance_id="i", group_instance_id_conflict=policy).joining()
    play.answer(Heartbeat, TAKEN)
    return play


def test_fail_is_fatal_at_once_and_names_the_holder() -> None:
    """The other holder is named by member id, client and host."""
    play = contested("fail")
    play.answer(DescribeGroup, group())
    assert play.member.state is S.FATAL
    assert play.member.problem is not None
    error = error_for(play.member.problem, play.member.identity)
    assert isinstance(error, InstanceIdInUseError)
    assert error.holder == HOLDER
    assert "10.0.0.7" in str(error)
    assert TAKEN.message is not None
    assert TAKEN.message in str(error)


def test_fail_without_a_description_is_fatal_too() -> None:
    """A broker that does not describe cannot keep us guessing."""
    play = contested("fail")
    play.fail(DescribeGroup, FailureKind.UNSUPPORTED)
    assert play.member.state is S.FATAL


def test_takeover_releases_the_holder_and_joins() -> None:
    """A temporary leave on the holder's behalf, then a join: no other member notices."""
    play = contested("takeover")
    play.answer(DescribeGroup, group())
    assert play.heartbeat() == Heartbeat(group_id="g", member_id="them", epoch=-2, instance_id="i")
    play.answer(Heartbeat, accepted(-2))
    assert (play.heartbeat().member_id, play.heartbeat().epoch) == ("me", 0)
    play.answer(Heartbeat, accepted(7, orders(0)))
    assert play.member.id_conflict is None
    assert play.member.problem is None


def test_takeover_goes_on_when_the_holder_is_already_gone() -> None:
    """A release that is refused because the holder left is followed by a join."""
    play = contested("takeover")
    play.answer(DescribeGroup, group())
    play.answer(Heartbeat, Refused(25))
    play.advance(1.0)
    assert play.heartbeat().epoch == 0


def test_takeover_looks_for_the_newest_holder_each_time() -> None:
    """The id may have been taken by a third process meanwhile."""
    play = contested("takeover")
    play.answer(DescribeGroup, group())
    play.answer(Heartbeat, accepted(-2))
    play.answer(Heartbeat, TAKEN)
    play.advance(1.0)
    play.answer(DescribeGroup, group("third"))
    assert play.heartbeat().member_id == "third"


def test_wait_is_bounded_by_the_session_timeout_the_broker_tells() -> None:
    """It asks again and again, and ends with the holder's name when the session must have ended."""
    play = contested("wait")
    play.answer(DescribeGroup, group())
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(20.0))
    joins = 0
    for _ in range(100):
        if play.member.state is S.FATAL:
            break
        if play.member.dialogue and isinstance(play.member.dialogue.request, Heartbeat):
            joins += 1
            play.answer(Heartbeat, TAKEN)
        elif play.member.dialogue:
            play.answer(DescribeGroup, group())
        play.advance(0.5)
    assert play.member.state is S.FATAL
    assert 20.0 <= play.now - 1000.0 <= 30.0
    assert 10 <= joins <= 50
    assert play.member.problem is not None
    assert play.member.problem.holder == HOLDER


def test_wait_enters_when_the_holder_goes() -> None:
    """The first join after that succeeds, and the problem is over."""
    play = contested("wait")
    play.answer(DescribeGroup, group())
    snapshot = snapshot_of(play.member, play.now)
    assert isinstance(snapshot.error, InstanceIdInUseError)
    assert snapshot.error.holder == HOLDER
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(45.0))
    play.answer(Heartbeat, TAKEN)
    play.advance(2.0)
    play.answer(Heartbeat, accepted(4, orders(0)))
    assert (play.member.state, play.member.problem) == (S.RECONCILING, None)


def test_wait_does_without_what_the_broker_will_not_tell() -> None:
    """No description, no session timeout: it waits for the longest session a broker allows by default."""
    play = contested("wait")
    play.answer(DescribeGroup, Refused(30))
    play.answer(DescribeSessionTimeout, Refused(30))
    assert play.member.id_conflict is not None
    assert play.member.id_conflict.give_up_at is not None
    assert play.member.id_conflict.give_up_at >= play.now + 60.0
    assert play.heartbeat().epoch == 0


@pytest.mark.parametrize("policy", ["wait", "takeover", "fail"])
def test_our_own_former_self_is_released_under_every_policy(policy: str) -> None:
    """The self-fencing hole: a join whose answer was lost is refused as if it came from a stranger."""
    play = contested(policy)
    play.answer(DescribeGroup, group("me"))
    assert (play.heartbeat().member_id, play.heartbeat().epoch) == ("me", -2)
    play.answer(Heartbeat, accepted(-2))
    play.answer(Heartbeat, accepted(3, orders(0)))
    assert play.member.state is S.RECONCILING


def test_a_lost_join_answer_leads_into_the_hole_and_out_again() -> None:
    """Join, answer lost, join again, refused, identified as ourselves, released, joined."""
    play = Play.new(group_instance_id="i").joining()
    play.fail(Heartbeat)
    play.advance(1.0)
    play.find_coordinator()
    play.advance(1.0)
    play.answer(Heartbeat, TAKEN)
    play.answer(DescribeGroup, group("me"))
    play.answer(Heartbeat, accepted(-2))
    assert play.heartbeat().epoch == 0


def test_being_superseded_is_fatal_and_names_the_successor() -> None:
    """Partitions are lost at once; the member ends when it knows by whom."""
    play = Play.new(group_instance_id="i").stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(82, "fenced"))
    assert play.member.state is S.FENCED
    assert play.callbacks()[-1].kind is CallbackKind.LOST
    play.answer(DescribeGroup, group())
    assert play.member.state is S.FATAL
    assert play.member.problem is not None
    error = error_for(play.member.problem, play.member.identity)
    assert isinstance(error, FencedInstanceIdError)
    assert (error.holder, error.epoch) == (HOLDER, 2)


@pytest.mark.parametrize("failure", list(FailureKind))
def test_being_superseded_is_fatal_even_if_the_new_holder_is_not_known(failure: FailureKind) -> None:
    """Within a request timeout, at the latest."""
    play = Play.new(group_instance_id="i").stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(82))
    play.fail(DescribeGroup, failure)
    play.advance(10.0)
    assert play.member.state is S.FATAL


def test_a_superseded_member_cannot_start_over() -> None:
    """Two processes with one id must not fence each other again and again: fencing is terminal."""
    play = Play.new(group_instance_id="i").stable()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(82))
    play.answer(DescribeGroup, group())
    play.do(Subscribe(frozenset({"orders"})))
    play.advance(60.0)
    assert play.member.state is S.FATAL


def test_an_instance_id_that_was_in_use_may_be_tried_again() -> None:
    """The holder may be gone by then."""
    play = contested("fail")
    play.answer(DescribeGroup, group())
    play.do(Subscribe(frozenset({"orders"})))
    assert play.member.state is S.JOINING


def test_closing_during_a_contest_ends_it() -> None:
    """A close is not held up by who holds what."""
    play = contested("wait")
    play.do(Close(timeout_s=5.0))
    assert play.member.id_conflict is None
    play.answer(Heartbeat, Refused(82))
    assert play.member.closed is not None


def test_a_contest_survives_a_coordinator_that_moves() -> None:
    """The question is asked again at the new one."""
    play = contested("wait")
    play.answer(DescribeGroup, Refused(16))
    play.find_coordinator()
    play.advance(1.0)
    play.answer(DescribeGroup, group())
    assert play.member.problem is not None
    assert play.member.problem.kind is ProblemKind.WAITING_FOR_INSTANCE_ID


def test_a_member_that_is_fenced_while_it_waits_for_its_instance_id_joins_again() -> None:
    """A broker of 4.0 fences a repeated epoch 0; the wait for the holder must not go on beside it, or nothing ever joins."""
    play = contested("wait")
    play.answer(DescribeGroup, group())
    play.answer(DescribeSessionTimeout, SessionTimeoutDescribed(45.0))
    play.answer(Heartbeat, Refused(110))
    play.advance(2.0)
    assert play.member.state is S.JOINING
    assert play.heartbeat().epoch == 0


def test_a_superseded_member_asks_the_new_coordinator_who_took_its_place() -> None:
    """The group may move in that moment; the error would then name no holder."""
    play = Play.new(group_instance_id="i").stable()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(82))
    play.fail(DescribeGroup)
    play.find_coordinator()
    play.advance(1.0)
    play.answer(DescribeGroup, group())
    assert play.member.problem is not None
    assert play.member.problem.holder == HOLDER


def test_a_refusal_without_words_still_names_the_instance_id() -> None:
    """Some brokers say nothing beside the code."""
    play = Play.new(group_instance_id="i", group_instance_id_conflict="fail").joining()
    play.answer(Heartbeat, Refused(111))
    play.answer(DescribeGroup, group())
    assert play.member.problem is not None
    assert "group.instance.id i is held" in play.member.problem.detail
