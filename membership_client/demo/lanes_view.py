"""A lane per partition, coloured by owner, with time from left to right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.console import Group
from rich.text import Text

from membership_client.demo.events import DemoEvent, ProcessEnded, StepBegan, StepKind
from membership_client.demo.ownership import Span, gaps, owned_spans

_LABEL = 4
_LEAST_TICK = 8


def lanes_view(
    events: Sequence[DemoEvent], partitions: int, colours: Mapping[str, str], now: float, width: int
) -> Group:
    """Dots are before the first owner and after the last; hatched columns should have had an owner."""
    begins = next((h.at for h in events if isinstance(h, StepBegan)), now)
    leaving = next((h.at for h in events if isinstance(h, StepBegan) and h.kind is StepKind.LEAVE), now)
    scale = Timescale.fitting(begins, now, max(_LEAST_TICK, width - _LABEL))
    lanes = owned_spans(events)
    rows = [_lane(n, scale.cells(lanes.get(n, ())), scale.column(leaving), colours) for n in range(partitions)]
    return Group(_marks(events, scale), *rows, _seconds(scale))


def _lane(number: int, cells: Sequence[Cell], leaving: int, colours: Mapping[str, str]) -> Text:
    first = next((column for column, cell in enumerate(cells) if cell.owner), len(cells))
    drawn = [_draw(cell, colours, owed=first < column <= leaving) for column, cell in enumerate(cells)]
    return Text.assemble((f"{number:>{_LABEL - 1}} ", "bold"), *drawn)


def _draw(cell: Cell, colours: Mapping[str, str], *, owed: bool) -> tuple[str, str]:
    """The owner's colour, and its letter in its first column, so that lanes can be read without colours."""
    if cell.owner is None:
        return ("▒", "bold red") if owed else ("·", "dim")
    colour = colours[cell.owner]
    if cell.first:
        return cell.owner[-1], f"bold black on {colour}"
    return " ", f"on {colour}"


def _marks(events: Sequence[DemoEvent], scale: Timescale) -> Text:
    """Where steps began, and where a member was killed."""
    marks = [" "] * scale.columns
    for event in events:
        if isinstance(event, StepBegan):
            marks[scale.column(event.at)] = str(event.number)
        if isinstance(event, ProcessEnded) and event.code < 0:
            marks[min(scale.column(event.at) + 1, scale.columns - 1)] = "†"
    return Text.assemble(" " * _LABEL, ("".join(marks), "bold"))


def _seconds(scale: Timescale) -> Text:
    every_s = next(s for s in (1, 2, 5, 10, 20, 60, 600) if s / scale.step_s >= _LEAST_TICK or s == 600)
    labels = [" "] * (scale.columns + _LEAST_TICK)
    for tick in range(int(scale.columns * scale.step_s / every_s) + 1):
        text, column = f"{tick * every_s} s", int(tick * every_s / scale.step_s)
        labels[column : column + len(text)] = text
    return Text(" " * _LABEL + "".join(labels[: scale.columns]), style="dim", no_wrap=True)


# --- time as columns -------------------------------------------------------------------------------------------------

_SCALES_S = (0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0)
"""Seconds per column. Few, so that the picture changes its scale seldom; close, so that it is seldom half empty."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of one partition's lane."""

    owner: str | None
    """The member that owned the partition for the longest part of that time; None if it had no owner."""
    first: bool
    """The owner's time begins in this column."""


@dataclass(frozen=True, slots=True)
class Timescale:
    """`columns` columns from `begins` on, each `step_s` wide; `now` is the last moment that can be drawn."""

    begins: float
    now: float
    columns: int
    step_s: float

    @classmethod
    def fitting(cls, begins: float, now: float, columns: int) -> Timescale:
        """The finest scale on which all time until now fits."""
        fits = (step_s for step_s in _SCALES_S if begins + columns * step_s >= now)
        return cls(begins, now, columns, next(fits, _SCALES_S[-1]))

    def column(self, at: float) -> int:
        return min(self.columns - 1, max(0, int((at - self.begins) / self.step_s)))

    def cells(self, lane: Sequence[Span]) -> list[Cell]:
        """The columns of a lane, up to now."""
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
