"""When the thread of a callback is looked at: soon enough for each that is worth a name, and ever less often."""

from __future__ import annotations

from membership_client.core.events import Heartbeat, LookAtCallback
from tests.core.play import Play, accepted, orders


def looks(play: Play, seconds: int) -> list[LookAtCallback]:
    """While that time passes, with heartbeats that are answered."""
    seen: list[LookAtCallback] = []
    for _ in range(seconds):
        seen += [effect for effect in play.advance(1.0) if isinstance(effect, LookAtCallback)]
        if play.member.dialogue and isinstance(play.member.dialogue.request, Heartbeat):
            play.answer(Heartbeat, accepted(play.member.epoch))
    return seen


def test_a_callback_is_looked_at_after_one_second_and_then_ever_less_often() -> None:
    """Its first warning comes after half of five minutes: by then one of 20 s had returned without a name."""
    play = Play.new(max_poll_interval_ms=300_000).stable(0, 1).told(orders(0))
    call = play.callbacks()[-1]
    assert [look.spent_s for look in looks(play, 20)] == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert len(looks(play, 280)) == 4
    assert {effect.call_id for effect in play.effects if isinstance(effect, LookAtCallback)} == {call.call_id}


def test_a_callback_that_returns_within_a_second_is_not_looked_at() -> None:
    """Nor is any after it has returned; the next one begins anew."""
    play = Play.new().stable(0, 1).told(orders(0))
    assert play.advance(0.9) == []
    play.returns()
    play.answer(Heartbeat, accepted(3))
    assert looks(play, 30) == []
    play.told(orders())
    assert [look.spent_s for look in looks(play, 3)] == [1.0, 2.0]
