"""When a consumer doubts that it is still a member: by values, without a broker and without waiting."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from membership_client.consumer import pause_detection
from membership_client.consumer.pause_detection import PauseDetection
from membership_client.core.events import Effect, Event, Heartbeat, Refused
from membership_client.core.machine import Step
from tests.core.play import INTERVAL_S, Play, accepted

LOOK_S = 1.0
FENCED_MEMBER_EPOCH = 110


@dataclass
class Watched(Play):
    """A member of the core, an PauseDetection that observes it, and the clocks of their machine."""

    slept_s: float = 0.0
    pauses: PauseDetection = field(default_factory=PauseDetection)

    def do(self, event: Event) -> list[Effect]:
        before = self.member
        effects = super().do(event)
        self.pauses.on_step(Step(self.now, before, event, tuple(effects), self.member))
        return effects

    def live(self, seconds: float) -> None:
        """Run like a process that is not stopped: a thread looks at the clock once a second."""
        until = self.now + seconds
        while self.now < until:
            self.advance(LOOK_S)
            self.pauses.look()

    def monotonic(self) -> float:
        return self.now

    def clock_gettime(self, _: int) -> float:
        return self.now + self.slept_s


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Stable, and a heartbeat was confirmed just now."""
    made = Play.new()
    watched = Watched(made.member)
    monkeypatch.setattr(pause_detection, "time", watched)
    monkeypatch.setattr(pause_detection, "_CLOCK", 7)
    watched.pauses = PauseDetection()
    watched.stable(0)
    watched.live(INTERVAL_S)
    watched.answer(Heartbeat, accepted(2))
    assert watched.pauses.look()
    return watched


def test_a_coordinator_that_is_silent_raises_no_doubt(play: Watched) -> None:
    """As long as the process runs it goes on with what it has, as consumers do."""
    play.live(60 * INTERVAL_S)
    assert play.pauses.look()
    assert play.now < play.pauses.until


def test_an_absence_shorter_than_the_interval_raises_no_doubt(play: Watched) -> None:
    """No session is shorter than that."""
    play.now += INTERVAL_S * 0.9
    assert play.pauses.look()


def test_after_an_absence_only_an_answer_to_a_later_question_counts(play: Watched) -> None:
    """One that was on its way before says nothing of now: the coordinator may have given us up since."""
    play.live(INTERVAL_S)
    asked_before = play.open(Heartbeat)
    play.now += 100
    assert play.now >= play.pauses.until
    assert not play.pauses.look()
    play.answer(Heartbeat, accepted(2))
    assert asked_before not in play.open_sends()
    assert not play.pauses.look()
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, accepted(2))
    assert play.pauses.look()


def test_a_machine_that_slept_is_noticed(play: Watched) -> None:
    """Its clock of steps stood still meanwhile."""
    play.live(LOOK_S)
    play.slept_s += 3600
    assert not play.pauses.look()


def test_who_is_out_is_certain_again_when_it_is_back(play: Watched) -> None:
    """Also if the process was not stopped."""
    play.live(INTERVAL_S)
    play.answer(Heartbeat, Refused(FENCED_MEMBER_EPOCH))
    assert not play.pauses.look()
    play.returns()
    play.live(1)
    play.answer(Heartbeat, accepted(3))
    assert play.pauses.look()


def test_without_a_membership_there_is_nothing_to_doubt(play: Watched) -> None:
    """A consumer with its own assignment reads on, however long its process was stopped."""
    alone = PauseDetection()
    play.now += 1000
    assert alone.look()
    assert play.now < alone.until
