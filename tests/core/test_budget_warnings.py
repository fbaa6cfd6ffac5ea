"""Budgets warn before they are gone, once."""

from __future__ import annotations

import pytest

from membership_client.core.events import Budget, Close, GroupLeft, Heartbeat, LeaveGroup, Unsubscribe, Warn
from tests.core.play import Play, accepted, orders


def warnings(play: Play, seconds: float) -> list[Warn]:
    """While that time passes, with heartbeats that are answered."""
    seen: list[Warn] = []
    for _ in range(int(seconds)):
        seen += [effect for effect in play.advance(1.0) if isinstance(effect, Warn)]
        if play.member.dialogue and isinstance(play.member.dialogue.request, Heartbeat):
            play.answer(Heartbeat, accepted(max(play.member.epoch, 2)))
    return seen


def test_a_callback_warns_once_when_half_of_its_time_is_gone() -> None:
    """The group waits for as long as the poll interval, so that is the budget."""
    play = Play.new(max_poll_interval_ms=20_000).joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    call = play.callbacks()[-1]
    assert warnings(play, 9) == []
    (warning,) = warnings(play, 30)
    assert (warning.budget, warning.limit_s, warning.call_id) == (Budget.CALLBACK, 20.0, call.call_id)
    assert warning.spent_s == 10.0


def test_the_next_callback_has_a_budget_of_its_own() -> None:
    """One warning per episode."""
    play = Play.new(max_poll_interval_ms=20_000).joining()
    play.answer(Heartbeat, accepted(2, orders(0)))
    play.name_topics()
    assert len(warnings(play, 15)) == 1
    play.returns()
    assert warnings(play, 60) == []


def test_a_close_warns_once_when_half_of_its_time_is_gone() -> None:
    """While a callback that does not return holds it up."""
    play = Play.new().stable(0)
    play.do(Close(timeout_s=10.0))
    assert warnings(play, 4) == []
    (warning,) = warnings(play, 5)
    assert (warning.budget, warning.spent_s, warning.limit_s) == (Budget.CLOSE, 5.0, 10.0)
    play.returns()
    play.answer(LeaveGroup, GroupLeft())
    assert play.member.closed is not None


@pytest.mark.parametrize("asked", [True, False])
def test_an_unsubscribe_has_no_budget_of_a_close(asked: bool) -> None:
    """No caller waits for it, whether a callback delays it or the coordinator."""
    play = Play.new().stable(0)
    play.do(Unsubscribe())
    if asked:
        play.returns()
    assert warnings(play, 9) == []
