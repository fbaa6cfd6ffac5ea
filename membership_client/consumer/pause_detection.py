"""Was this process away for so long that the group may have given its partitions to others? Or are we out anyway?

A process that was stopped, or a machine that slept, goes on where it was: with records that were fetched long ago. Its
threads look at the clock every second or so; one that finds the last look too long ago knows that all were away.
"""

from __future__ import annotations

import threading
import time

from membership_client.core.machine import Step
from membership_client.core.member import InFlight
from membership_client.types import MemberState

_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_UNNOTICED_S = 1.5
"""A look comes once a second, give or take a quarter. So short an absence no session minds."""

_OUT = frozenset({MemberState.FENCED, MemberState.STALE, MemberState.FATAL})
"""We know that we are out, and the callback that says so may have to wait for another one."""


def slept_s() -> float:
    """How long the machine has been asleep, where that is known: the clock of steps does not count it."""
    return time.clock_gettime(_CLOCK) - time.monotonic() if _CLOCK is not None else 0.0


class PauseDetection:
    """Any thread. Without a heartbeat interval's worth of looks there is doubt, until the coordinator has confirmed us.

    Else only the coordinator raises doubt: with looks, one that is silent for long stops nobody, and neither does slow
    work. When absence raises it a heartbeat is overdue, so it lasts one round trip.
    """

    def __init__(self) -> None:
        self.until = float("inf")
        """Before that moment there is no doubt. Cheap to compare with, as is done for every record."""
        self._slept_s = slept_s()
        self._lock = threading.RLock()
        self._confirmed_until: float | None = None
        """No session is shorter than the heartbeat interval. None while we are not a member."""
        self._doubt_since: float | None = None

    def look(self) -> bool:
        """Whether we are sure; from now on, or since the last doubt."""
        with self._lock:
            return self._look()

    def _look(self) -> bool:
        before, self._slept_s = self._slept_s, slept_s()
        away = time.monotonic() >= self.until or self._slept_s - before > _UNNOTICED_S
        if self._doubt_since is None and away and self._confirmed_until is not None:
            self._doubt()
        elif self._doubt_since is None:
            self._be_sure(None)
        return self._doubt_since is None

    def before_state(self, state: MemberState) -> None:
        """On the membership thread, before any other thread can see the state."""
        if state in _OUT:
            with self._lock:
                self._doubt()

    def on_step(self, step: Step) -> None:
        """An observer. What was asked before the doubt confirms nothing, whenever its answer is read."""
        asked = _confirming(step) if step.after.confirmed_at != step.before.confirmed_at else None
        with self._lock:
            if step.after.state is MemberState.UNSUBSCRIBED:
                self.until, self._confirmed_until, self._doubt_since = float("inf"), None, None
            elif step.after.state in _OUT:
                self._doubt()
            elif self._look() or (asked is not None and asked.sent_at >= (self._doubt_since or 0.0)):
                self._be_sure(None if asked is None else step.after.interval_s - (step.at - asked.sent_at))

    def _doubt(self) -> None:
        self._doubt_since, self.until = time.monotonic(), 0.0

    def _be_sure(self, for_s: float | None) -> None:
        at, self._doubt_since = time.monotonic(), None
        if for_s is not None:
            self._confirmed_until = at + for_s
        if self._confirmed_until is not None:
            self.until = max(at + _UNNOTICED_S, self._confirmed_until)


def _confirming(step: Step) -> InFlight | None:
    """What the coordinator answered."""
    beside = step.before.join_keepalive
    return beside if beside is not None and step.after.join_keepalive is None else step.before.dialogue
