"""How long the polling thread is inside poll(), and how long between two: what is seen, and conclusions of the rest."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from membership_client.consumer.unseen import Look, Seen, Spent, concluded

_FADE = 0.9
"""What was seen in some ten seconds counts when the unseen is to be judged."""


class _Where(enum.Enum):
    INSIDE = enum.auto()
    BETWEEN = enum.auto()
    UNSEEN = enum.auto()
    """In calls that nobody watches, or between them."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """One object, because another thread reads it."""

    spent: Spent
    where: _Where
    since: float


class PollTime:
    """`look` and `spent` are for the thread that attends; all else belongs to the polling thread.

    A call that is watched is made inside `with`, and says when it has `entered` librdkafka.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._moment: _Moment | None = None
        self._entered_at = 0.0
        self._waited_s = 0.0
        self._seen = Seen()
        self._look: Look | None = None

    def __enter__(self) -> None:
        now, before = self._clock(), self._moment
        self._entered_at = now
        if before is not None and before.where is _Where.BETWEEN:
            self._seen = self._seen.and_cycle(self._waited_s, now - before.since)
        self._go(_Where.INSIDE, now)
        self._seen, self._look = self._seen_until(now), None

    def entered(self) -> None:
        """What was done before is part of this call, but not of those that nobody watches."""
        self._entered_at = self._clock()

    def __exit__(self, *_: object) -> None:
        now = self._clock()
        self._waited_s = now - self._entered_at
        self._go(_Where.BETWEEN, now)

    def lose_sight(self) -> None:
        """The calls after this one are not watched."""
        if self._moment is not None:
            self._look = None
            self._moment = _Moment(self._moment.spent, _Where.UNSEEN, self._moment.since)

    def answered(self) -> None:
        """Our knock, from inside poll(). If that one is not watched, it was called before the look."""
        if self._look is not None and self._moment is not None and self._moment.where is _Where.UNSEEN:
            self._look = replace(self._look, inside=True)

    def look(self) -> None:
        """From now on calls are watched, and a knock follows."""
        moment, look, now = self._moment, self._look, self._clock()
        if moment is None or moment.where is not _Where.UNSEEN:
            return
        if look is None:
            self._look = Look(now, moment.since, now)
        elif look.has_shown(now):
            self._look = look.again(now)

    def spent(self) -> Spent:
        """Since the first call. An unseen stretch counts when it has ended, or when a look has shown that it goes on."""
        moment, look, now = self._moment, self._look, self._clock()
        if moment is None:
            return Spent()
        if moment.where is _Where.UNSEEN and (look is None or not look.has_shown(now)):
            return moment.spent
        return moment.spent + self._stretch(moment, now)

    def _go(self, where: _Where, at: float) -> None:
        before = self._moment
        self._moment = _Moment(Spent() if before is None else before.spent + self._stretch(before, at), where, at)

    def _stretch(self, moment: _Moment, until: float) -> Spent:
        took_s = until - moment.since
        match moment.where:
            case _Where.INSIDE:
                return Spent(took_s, 0.0)
            case _Where.BETWEEN:
                return Spent(0.0, took_s)
            case _Where.UNSEEN:
                return concluded(moment.since, until, self._look, self._seen_until(until))

    def _seen_until(self, now: float) -> Seen:
        """With the look that was made last, as if a call began now."""
        return self._seen if self._look is None else self._seen.and_look(now - self._look.first_at, _FADE)
