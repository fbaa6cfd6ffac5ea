"""Changes of state that pass through other states within one step: an observer sees only the first and the last."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from membership_client.core.events import (
    GroupSynced,
    Heartbeat,
    JoinGroup,
    Polled,
    Refused,
    Subscribe,
    SyncGroup,
    Unsubscribe,
)
from membership_client.core.fencing import crashed
from membership_client.core.member import _MOVES, _THROUGH_OTHERS, TRANSITIONS
from membership_client.types import LeaveMode, MemberState
from tests.core.classic_play import ClassicPlay, admitted, in_classic_state, share
from tests.core.play import INTERVAL_S, Play, accepted, in_state, orders

S = MemberState
UNKNOWN_MEMBER_ID = 25

AGAIN = Subscribe(frozenset({"orders"}))
STAY_ENROLLED = Unsubscribe(mode=LeaveMode.REMAIN)

Scene = Callable[[], tuple[Play, Callable[[], object]]]
"""A member in the first state, and what brings it to the last."""


def _callbacks_done() -> tuple[Play, Callable[[], object]]:
    play = in_classic_state(S.RECONCILING)
    return play, play.returns


def _same_share() -> tuple[Play, Callable[[], object]]:
    play = ClassicPlay.cooperative().stable(0).rebalanced()
    play.answer(JoinGroup, admitted(2, strategy="cooperative-sticky"))
    return play, lambda: play.answer(SyncGroup, GroupSynced(share(0)))


def _unsubscribed(play: Play) -> tuple[Play, Callable[[], object]]:
    return play, lambda: play.do(STAY_ENROLLED)


def _not_found_yet() -> tuple[Play, Callable[[], object]]:
    play = Play.new()
    play.do(AGAIN)
    return _unsubscribed(play)


def _unnamed() -> tuple[Play, Callable[[], object]]:
    play = Play.new().joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    return _unsubscribed(play)


def _all_revoked() -> tuple[Play, Callable[[], object]]:
    play = Play.new().stable(0).told(orders())
    play.returns()
    return _unsubscribed(play)


def _dropped_with_nothing() -> tuple[Play, Callable[[], object]]:
    play = Play.new().stable(0).told(orders())
    play.returns()
    return play, lambda: play.answer(Heartbeat, Refused(UNKNOWN_MEMBER_ID))


def _subscribed(play: Play) -> tuple[Play, Callable[[], object]]:
    return play, lambda: play.do(AGAIN)


def _leaving(play: Play) -> tuple[Play, Callable[[], object]]:
    """It has subscribed again, and the revoked callback still runs."""
    play.do(STAY_ENROLLED)
    play.do(AGAIN)
    return play, play.returns


def _late(scene: Callable[[Play], tuple[Play, Callable[[], object]]], play: Play) -> tuple[Play, Callable[[], object]]:
    """The application polled before, and then not for the whole poll interval."""
    play.do(Polled(play.now))
    play, last = scene(play)
    play.now += play.member.poll_interval_s
    return play, last


def _fenced(play: Play) -> tuple[Play, Callable[[], object]]:
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(UNKNOWN_MEMBER_ID))
    return play, play.returns


SCENES: dict[tuple[MemberState, MemberState], Scene] = {
    (S.RECONCILING, S.STABLE): _callbacks_done,
    (S.JOINING, S.STABLE): _same_share,
    (S.ACK, S.JOINING): _dropped_with_nothing,
    (S.JOINING, S.UNSUBSCRIBED): _not_found_yet,
    (S.RECONCILING, S.UNSUBSCRIBED): _unnamed,
    (S.ACK, S.UNSUBSCRIBED): _all_revoked,
    (S.STABLE, S.UNSUBSCRIBED): lambda: _unsubscribed(Play.new().stable()),
    (S.LEAVING, S.JOINING): lambda: _leaving(Play.new().stable(0)),
    (S.FATAL, S.JOINING): lambda: _subscribed(in_state(S.FATAL)),
    (S.FENCED, S.STALE): lambda: _late(_fenced, Play.new().stable(0)),
}


@pytest.mark.parametrize("seen", _THROUGH_OTHERS, ids=lambda seen: f"{seen[0].name}-{seen[1].name}")
def test_every_change_through_other_states_really_happens(seen: tuple[MemberState, MemberState]) -> None:
    """The table has no pair that no event brings about; the bug was that it had none of these at all."""
    play, last = SCENES[seen]()
    before = play.member.state
    last()
    assert (before, play.member.state) == seen


def test_no_move_is_told_twice() -> None:
    """A pair is a single move, or it is not."""
    assert not _MOVES.keys() & _THROUGH_OTHERS.keys()
    assert _MOVES.keys() | _THROUGH_OTHERS.keys() == TRANSITIONS.keys() == _MOVES.keys() | SCENES.keys()


@pytest.mark.parametrize("state", [state for state in S if state is not S.FATAL])
def test_a_membership_thread_that_ends_by_a_bug_is_in_the_table(state: MemberState) -> None:
    """From every state: the snapshot shows FATAL next."""
    play = in_state(state)
    member, _ = crashed(play.member, "IndexError()", play.now)
    assert (state, member.state) in TRANSITIONS
