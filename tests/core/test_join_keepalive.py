"""A member of a cooperative group keeps partitions while its join waits, for as long as the coordinator counts on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from membership_client.core import reasons
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackKind,
    ClassicHeartbeat,
    Disconnect,
    FailureKind,
    GroupSynced,
    HeartbeatConfirmed,
    JoinGroup,
    Refused,
    Response,
    SyncGroup,
)
from membership_client.types import MemberState
from tests.core.classic_play import BEAT_S, REBALANCE_IN_PROGRESS, ClassicPlay, admitted, owned, share

SESSION_S = 20.0
COOPERATIVE = "cooperative-sticky"


@pytest.fixture
def play() -> ClassicPlay:
    """It owns two partitions, and its join is under way."""
    return ClassicPlay.cooperative(session_timeout_ms=int(SESSION_S * 1000)).stable(0, 1).rebalanced()


def beats(play: ClassicPlay) -> list[ClassicHeartbeat]:
    return [send.request for send in play.sends() if isinstance(send.request, ClassicHeartbeat)]


@pytest.mark.parametrize("answer", [HeartbeatConfirmed(), Refused(REBALANCE_IN_PROGRESS)])
def test_heartbeats_go_on_while_the_join_waits(play: ClassicPlay, answer: Response) -> None:
    """As the member that it was until now, once an interval; whatever the coordinator knows of the group, it knows us."""
    before = len(beats(play))
    for _ in range(10):
        play.advance(BEAT_S)
        play.answer(ClassicHeartbeat, answer)
        assert play.member.confirmed_at == play.now
    assert [beat.generation for beat in beats(play)[before:]] == [1] * 10
    assert play.join_request().owned == share(0, 1)


def test_who_does_not_hear_of_its_group_for_a_session_keeps_nothing(play: ClassicPlay) -> None:
    """Found by a soak: a join was lost on a dead connection, and its sender read for a minute what others owned by then."""
    play.advance(SESSION_S)
    assert [call.kind for call in play.callbacks()] == [CallbackKind.LOST]
    assert play.member.cause is not None
    assert reasons.SESSION_ENDED in play.member.cause.detail


def test_a_coordinator_that_does_not_answer_is_looked_for_again(play: ClassicPlay) -> None:
    """A join may wait for minutes, but the connection that it went over is as dead as that of the heartbeat."""
    seen = play.advance(BEAT_S + play.member.request_timeout_s)
    assert any(isinstance(effect, Disconnect) for effect in seen)
    assert play.member.dialogue is None
    play.find_coordinator()
    play.advance(1.0)
    assert play.join_request().owned == share(0, 1)


@pytest.mark.parametrize("code", [Code.UNKNOWN_MEMBER_ID, Code.GROUP_ID_NOT_FOUND])
def test_a_coordinator_that_does_not_know_us_has_given_us_up(play: ClassicPlay, code: Code) -> None:
    """The join that waits is not worth waiting for."""
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(code))
    assert play.member.state is MemberState.FENCED
    assert [call.kind for call in play.callbacks()] == [CallbackKind.LOST]
    play.returns()
    assert play.join_request().owned == frozenset()


def test_another_generation_alone_takes_nothing(play: ClassicPlay) -> None:
    """All have joined, and the answer to our join is on its way."""
    play.advance(BEAT_S)
    before = play.member.confirmed_at
    play.answer(ClassicHeartbeat, Refused(Code.ILLEGAL_GENERATION))
    assert (play.member.owned, play.member.confirmed_at) == (owned(0, 1), before)
    play.answer(JoinGroup, admitted(2, strategy=COOPERATIVE))
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    assert play.member.owned == owned(0, 1)


def test_a_generation_that_we_never_get_to_know_ends_the_session(play: ClassicPlay) -> None:
    """The answer to our join was lost, and the group goes on without us."""
    for _ in range(int(SESSION_S / BEAT_S)):
        play.advance(BEAT_S)
        play.answer(ClassicHeartbeat, Refused(Code.ILLEGAL_GENERATION))
    assert play.member.owned == owned(0, 1)
    play.advance(BEAT_S)
    assert [call.kind for call in play.callbacks()] == [CallbackKind.LOST]


def test_a_connection_that_breaks_costs_one_heartbeat(play: ClassicPlay) -> None:
    """The join has another one, and goes on waiting."""
    play.advance(BEAT_S)
    play.fail(ClassicHeartbeat, FailureKind.DISCONNECTED)
    assert play.join_request().owned == share(0, 1)
    play.advance(BEAT_S)
    play.answer(ClassicHeartbeat, Refused(REBALANCE_IN_PROGRESS))
    assert play.member.owned == owned(0, 1)


def test_an_answer_to_a_former_member_id_is_ignored(play: ClassicPlay) -> None:
    """The join was answered first: the generation that the heartbeat was of is over."""
    play.advance(BEAT_S)
    asked = play.open(ClassicHeartbeat)
    play.answer(JoinGroup, admitted(2, strategy=COOPERATIVE))
    confirmed = play.member.confirmed_at
    play.advance(0.5)
    play.do(Answered(asked.request_id, Refused(Code.UNKNOWN_MEMBER_ID)))
    assert (play.member.owned, play.member.confirmed_at) == (owned(0, 1), confirmed)
    assert play.sync_request().generation == 2


def eager() -> ClassicPlay:
    """It gave everything back before it joined."""
    play = ClassicPlay.new(session_timeout_ms=int(SESSION_S * 1000)).stable(0).rebalanced()
    play.let_callbacks_return()
    return play


def bereft() -> ClassicPlay:
    """Its share was taken away from it, and it joins once more."""
    play = ClassicPlay.cooperative(session_timeout_ms=int(SESSION_S * 1000)).stable(0).rebalanced()
    play.let_in(generation=2).let_callbacks_return()
    return play


@pytest.mark.parametrize("make", [eager, bereft])
def test_who_keeps_nothing_only_waits(make: Callable[[], ClassicPlay]) -> None:
    """There is nothing to lose."""
    play = make()
    assert play.advance(2 * SESSION_S) == []
    assert play.join_request().owned == frozenset()


def test_a_heartbeat_that_is_not_answered_is_not_followed_by_a_second_one() -> None:
    """Only a join that waits has heartbeats beside it; anything else is waited for, up to the request timeout."""
    play = ClassicPlay.cooperative().stable(0)
    play.advance(3 * BEAT_S)
    assert [type(send.request) for send in play.sends()] == [ClassicHeartbeat]
