"""Detects that the process was stopped so long that other members may have its partitions, or that the member is out of the group.

A process that was stopped, or a machine that slept, goes on with records that were fetched long ago. Its threads look at the
clock about once a second. A thread that finds the last look too long ago knows that the whole process was stopped.
"""

from __future__ import annotations

import threading
import time

from membership_client.core.events import KeeperReported
from membership_client.core.machine import Step
from membership_client.core.member import InFlight
from membership_client.types import MemberState

_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
_UNNOTICED_S = 1.5
"""Looks come about once a second. A pause below this is shorter than any session."""

_OUT = frozenset({MemberState.FENCED, MemberState.STALE, MemberState.FATAL})
"""States of a member that is out of the group, while its lost callback may still wait for another callback."""


def slept_s() -> float:
    """How long the machine has been asleep, which `time.monotonic()` does not count; 0 where it is not known."""
    return time.clock_gettime(_CLOCK) - time.monotonic() if _CLOCK is not None else 0.0


class PauseDetection:
    """After a heartbeat interval without a look there is doubt, until the coordinator confirms the member. Any thread may use it.

    While looks go on, only the coordinator raises doubt: neither its silence nor slow work does. When a pause raises
    doubt, a heartbeat is overdue, so the doubt lasts one round trip.
    """

    def __init__(self) -> None:
        self.until = float("inf")
        """The time until which there is no doubt. A float, because it is compared with the clock for every record."""
        self._slept_s = slept_s()
        self._lock = threading.RLock()
        self._confirmed_until: float | None = None
        """A heartbeat interval after the last confirmation: no session is shorter. None while not a member."""
        self._doubt_since: float | None = None

    def look(self) -> bool:
        """Look at the clock. True if there is no doubt."""
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
        """Called on the membership thread before any other thread can see the state."""
        if state in _OUT:
            with self._lock:
                self._doubt()

    def on_step(self, step: Step) -> None:
        """An observer of the member. An answer confirms nothing if its request was sent before the doubt."""
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
    """The request that the coordinator answered; None if it answered the keeper, which may have asked before the pause ended."""
    if isinstance(step.event, KeeperReported):
        return None
    beside = step.before.join_keepalive
    return beside if beside is not None and step.after.join_keepalive is None else step.before.dialogue
