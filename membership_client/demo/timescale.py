"""Turns spans of time into columns of text: which column shows whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from membership_client.demo.ownership import Span, gaps

_SCALES_S = (0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)
"""Few enough that the picture seldom jumps, close enough that it is never half empty for long."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of one partition's lane."""

    owner: str | None
    """Whoever owned it for the longest part of that time; None: nobody did."""
    first: bool
    """The owner begins here."""


@dataclass(frozen=True, slots=True)
class Timescale:
    """`columns` columns from `begins` on, each `step_s` wide; `now` is the last moment that can be drawn."""

    begins: float
    now: float
    columns: int
    step_s: float

    @classmethod
    def fitting(cls, begins: float, now: float, columns: int) -> Timescale:
        """The finest scale on which everything until now fits."""
        fits = (step_s for step_s in _SCALES_S if begins + columns * step_s >= now)
        return cls(begins, now, columns, next(fits, _SCALES_S[-1]))

    def column(self, at: float) -> int:
        return min(self.columns - 1, max(0, int((at - self.begins) / self.step_s)))

    def cells(self, lane: Sequence[Span]) -> list[Cell]:
        """The lane up to now."""
        owners = [self._owner(lane, column) for column in range(self._drawn)]
        return [Cell(owner, first=owner not in {None, before}) for before, owner in pairwise([None, *owners])]

    @property
    def _drawn(self) -> int:
        return min(self.columns, math.ceil((self.now - self.begins) / self.step_s))

    def _owner(self, lane: Sequence[Span], column: int) -> str | None:
        begins = self.begins + column * self.step_s
        ends = min(self.now, begins + self.step_s)
        longest = max([*lane, *gaps(lane)], key=lambda span: span.seconds_within(begins, ends), default=None)
        if longest is None or longest.seconds_within(begins, ends) == 0:
            return None
        return longest.owner
