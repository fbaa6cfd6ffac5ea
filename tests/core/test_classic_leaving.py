"""Leaving a classic group, and static members of one."""

from __future__ import annotations

import pytest

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackKind,
    ClassicHeartbeat,
    Close,
    DescribeClassicGroup,
    FailureKind,
    GroupDescribed,
    GroupLeft,
    JoinGroup,
    LeaveGroup,
    MemberDescription,
    MemberIdGiven,
    Polled,
    Refused,
    Subscribe,
    Unsubscribe,
)
from membership_client.errors import ProblemKind
from membership_client.types import LeaveMode, MemberState
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted

S = MemberState


def leaves(play: ClassicPlay) -> list[LeaveGroup]:
    return [send.request for send in play.sends() if isinstance(send.request, LeaveGroup)]


def test_a_dynamic_member_leaves_with_a_reason() -> None:
    """Under the id that it was given, once its partitions are given back."""
    play = ClassicPlay.new().stable(0)
    play.do(Close(timeout_s=5.0, reason="x" * 300))
    assert leaves(play) == []
    play.returns()
    assert leaves(play) == [LeaveGroup(group_id="g", member_id="given", instance_id=None, reason="x" * 255)]
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None
    assert play.member.closed.clean


@pytest.mark.parametrize(
    ("mode", "static", "tells"),
    [
        (LeaveMode.DEFAULT, False, True),
        (LeaveMode.LEAVE, False, True),
        (LeaveMode.REMAIN, False, False),
        (LeaveMode.DEFAULT, True, False),
        (LeaveMode.LEAVE, True, True),
        (LeaveMode.REMAIN, True, False),
        (LeaveMode.TEMPORARY, True, False),
    ],
)
def test_who_tells_the_coordinator(mode: LeaveMode, static: bool, tells: bool) -> None:
    """A static member says nothing unless it goes for good: its place is kept until its session ends."""
    play = ClassicPlay.new(group_instance_id="i" if static else None).stable(0)
    play.do(Close(timeout_s=5.0, mode=mode))
    play.returns()
    assert bool(leaves(play)) is tells
    assert all(leave.instance_id == ("i" if static else None) for leave in leaves(play))


def test_an_old_broker_is_told_without_a_reason() -> None:
    """It has no place for one, and must know all the same."""
    play = ClassicPlay.new().stable()
    play.do(Close(timeout_s=5.0))
    play.fail(LeaveGroup, FailureKind.UNSUPPORTED)
    assert leaves(play)[-1].reason is None
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None
    assert play.member.closed.clean


def test_a_broker_that_refuses_both_leaves_is_not_asked_for_ever() -> None:
    """The close ends, and says how."""
    play = ClassicPlay.new().stable()
    play.do(Close(timeout_s=5.0))
    play.answer(LeaveGroup, Refused(Code.GROUP_AUTHORIZATION_FAILED))
    play.answer(LeaveGroup, Refused(Code.GROUP_AUTHORIZATION_FAILED))
    assert play.member.closed is not None
    assert not play.member.closed.clean


def test_a_member_that_waits_for_others_can_leave() -> None:
    """The leave request overtakes the join, which is then dropped when its answer comes."""
    play = ClassicPlay.new()
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.do(Close(timeout_s=5.0))
    assert leaves(play)[-1].member_id == "given"


def test_without_an_id_no_leave_request_is_sent() -> None:
    """The coordinator has not let us in, and knows no name of ours."""
    play = ClassicPlay.new()
    play.joining()
    play.do(Close(timeout_s=5.0))
    assert (leaves(play), play.member.closed is not None) == ([], True)


def test_heartbeats_go_on_while_partitions_are_given_back() -> None:
    """Otherwise others would be given them while we still work on them; that the group rebalances changes nothing."""
    play = ClassicPlay.new().stable(0)
    play.do(Unsubscribe())
    for _ in range(3):
        play.advance(BEAT_S)
        play.answer(ClassicHeartbeat, Refused(Code.REBALANCE_IN_PROGRESS))
    assert (play.member.state, leaves(play)) == (S.LEAVING, [])


def test_a_join_that_is_answered_to_a_leaving_member_counts() -> None:
    """The leave request of a member that still gives back partitions comes from the generation it was let into."""
    play = ClassicPlay.cooperative().stable(0).rebalanced()
    play.do(Unsubscribe())
    play.answer(JoinGroup, admitted(2, strategy="cooperative-sticky"))
    play.advance(BEAT_S)
    request = play.open(ClassicHeartbeat).request
    assert isinstance(request, ClassicHeartbeat)
    assert (play.member.state, request.generation) == (S.LEAVING, 2)


def test_a_member_that_does_not_poll_leaves_and_comes_back() -> None:
    """With reasons that tell both; a static one leaves in silence."""
    play = ClassicPlay.new(max_poll_interval_ms=2_000).stable(0)
    play.do(Polled(play.now))
    play.advance(2.0)
    assert (play.member.state, leaves(play)[-1].reason) == (S.STALE, "poll interval exceeded: 2 s")
    play.answer(LeaveGroup, GroupLeft())
    play.let_callbacks_return()
    play.do(Polled(play.now))
    assert (play.join_request().member_id, play.join_request().reason) == ("", "application polls again")


# --- static members --------------------------------------------------------------------------------------------------


def test_a_static_member_names_its_instance_everywhere() -> None:
    """Join, sync, heartbeat: so that the coordinator can tell it from another holder."""
    play = ClassicPlay.new(group_instance_id="i")
    play.joining()
    play.let_in(0)
    play.let_callbacks_return()
    play.advance(BEAT_S)
    named = [getattr(send.request, "instance_id", "i") for send in play.sends()]
    assert named == ["i"] * len(named)


def test_a_static_member_that_subscribes_again_takes_its_own_place() -> None:
    """It left without a request, so it joins as a newcomer with the same instance id, and the group does not rebalance."""
    play = ClassicPlay.new(group_instance_id="i").stable(0)
    play.do(Unsubscribe())
    play.let_callbacks_return()
    assert play.member.state is S.UNSUBSCRIBED
    play.do(Subscribe(frozenset({"orders"})))
    assert (play.join_request().member_id, play.join_request().instance_id) == ("", "i")


@pytest.mark.parametrize("known", [True, False])
def test_the_newcomer_wins(known: bool) -> None:
    """The former holder of the instance id ends FATAL, with its partitions lost; the error names the new one if it is known."""
    play = ClassicPlay.new(group_instance_id="i").stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.FENCED_INSTANCE_ID))
    assert (play.member.state, play.callbacks()[-1].kind) == (S.FENCED, CallbackKind.LOST)
    holder = MemberDescription(member_id="other", instance_id="i", client_id="c", host="h")
    play.answer(DescribeClassicGroup, GroupDescribed((holder,)) if known else Refused(Code.UNKNOWN_SERVER_ERROR))
    problem = play.member.problem
    assert problem is not None
    assert (play.member.state, problem.kind) == (S.FATAL, ProblemKind.FENCED_INSTANCE_ID)
    assert (problem.holder.member_id if problem.holder else None) == ("other" if known else None)


def test_a_static_member_that_was_removed_joins_again() -> None:
    """An operator removed it; it is not told to stay away."""
    play = ClassicPlay.new(group_instance_id="i").stable(0)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(Code.UNKNOWN_MEMBER_ID))
    play.let_callbacks_return()
    assert (play.join_request().member_id, play.join_request().instance_id) == ("", "i")
