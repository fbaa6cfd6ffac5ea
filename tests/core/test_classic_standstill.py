"""A process that stood still reads answers that may be long out of date: a member of a classic group believes none of them.

The coordinator counts a session from its answer on, which the moment at which it is read does not tell. It is never earlier
than the request.
"""

from __future__ import annotations

import pytest

from membership_client.core import reasons
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    CallbackKind,
    ClassicHeartbeat,
    GroupSynced,
    JoinGroup,
    MemberIdGiven,
    Refused,
    SyncGroup,
)
from membership_client.types import MemberState
from tests.core.classic_play import BEAT_S, ClassicPlay, admitted, owned, share

SESSION_S = 20.0


@pytest.fixture
def play() -> ClassicPlay:
    """A newcomer that has asked for its share."""
    play = ClassicPlay.new(session_timeout_ms=int(SESSION_S * 1000))
    play.joining()
    play.answer(JoinGroup, MemberIdGiven("given"))
    play.answer(JoinGroup, admitted())
    return play


def test_a_share_that_took_a_session_is_asked_for_again(play: ClassicPlay) -> None:
    """Nothing of it is begun; the second answer comes at once, and is taken."""
    first = play.sync_request()
    play.now += SESSION_S
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    assert play.callbacks() == []
    assert play.sync_request() == first
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    play.let_callbacks_return()
    assert (play.member.state, play.member.owned) == (MemberState.STABLE, owned(0, 1))


def test_who_was_given_up_meanwhile_learns_it_from_the_second_answer(play: ClassicPlay) -> None:
    """Found by the simulation: its stale share was read until the next heartbeat, while others owned it."""
    play.now += SESSION_S
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    play.answer(SyncGroup, Refused(Code.UNKNOWN_MEMBER_ID))
    assert not play.member.owned
    assert play.callbacks() == []


def test_a_share_that_took_less_than_a_session_is_taken_and_asked_about(play: ClassicPlay) -> None:
    """Its session is counted from the question: a heartbeat is overdue, and does not wait for its turn."""
    asked_at = play.now
    play.now += SESSION_S - 1.0
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    play.let_callbacks_return()
    assert (play.member.owned, play.member.confirmed_at) == (owned(0, 1), asked_at)
    assert isinstance(play.open(ClassicHeartbeat).request, ClassicHeartbeat)


def test_what_is_kept_in_a_join_is_lost_if_its_answer_lay_unread_for_a_session() -> None:
    """The heartbeats beside it were not answered either."""
    play = ClassicPlay.cooperative(session_timeout_ms=int(SESSION_S * 1000)).stable(0, 1).rebalanced()
    play.waits(2 * BEAT_S)
    play.now += SESSION_S
    play.answer(JoinGroup, admitted(2, strategy="cooperative-sticky"))
    assert [call.kind for call in play.callbacks()] == [CallbackKind.LOST]
    assert play.member.cause is not None
    assert reasons.SESSION_ENDED in play.member.cause.detail


def test_what_is_kept_in_a_long_join_is_kept_if_the_heartbeats_beside_it_were_answered() -> None:
    """A join may wait for longer than a session lasts."""
    play = ClassicPlay.cooperative(session_timeout_ms=int(SESSION_S * 1000)).stable(0, 1).rebalanced()
    play.waits(2 * SESSION_S)
    play.answer(JoinGroup, admitted(2, strategy="cooperative-sticky"))
    play.answer(SyncGroup, GroupSynced(share(0, 1)))
    assert play.member.owned == owned(0, 1)
