"""A lane per partition, coloured by owner, with time from left to right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from membership_client.demo.happenings import ProcessEnded, StepBegan, StepKind
from membership_client.demo.ownership import owned_spans
from membership_client.demo.timescale import Cell, Timescale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from membership_client.demo.colours import Colours
    from membership_client.demo.happenings import Happening

_LABEL = 4
_LEAST_TICK = 8


def lanes_view(happenings: Sequence[Happening], partitions: int, colours: Colours, now: float, width: int) -> Group:
    """Dots are before the first owner and after the last; what is hatched should have had an owner."""
    begins = next((h.at for h in happenings if isinstance(h, StepBegan)), now)
    leaving = next((h.at for h in happenings if isinstance(h, StepBegan) and h.scene is StepKind.LEAVE), now)
    scale = Timescale.fitting(begins, now, max(_LEAST_TICK, width - _LABEL))
    lanes = owned_spans(happenings)
    rows = [_lane(n, scale.cells(lanes.get(n, ())), scale.column(leaving), colours) for n in range(partitions)]
    return Group(_marks(happenings, scale), *rows, _seconds(scale))


def _lane(number: int, cells: Sequence[Cell], leaving: int, colours: Colours) -> Text:
    first = next((column for column, cell in enumerate(cells) if cell.owner), len(cells))
    drawn = [_draw(cell, colours, owed=first < column <= leaving) for column, cell in enumerate(cells)]
    return Text.assemble((f"{number:>{_LABEL - 1}} ", "bold"), *drawn)


def _draw(cell: Cell, colours: Colours, *, owed: bool) -> tuple[str, str]:
    """The owner's colour, and its letter where it begins, so that the lanes can be read without colours too."""
    if cell.owner is None:
        return ("▒", "bold red") if owed else ("·", "dim")
    colour = colours[cell.owner]
    if cell.first:
        return cell.owner[-1], f"bold black on {colour}"
    return " ", f"on {colour}"


def _marks(happenings: Sequence[Happening], scale: Timescale) -> Text:
    """Where steps began, and where somebody was killed."""
    marks = [" "] * scale.columns
    for happening in happenings:
        if isinstance(happening, StepBegan):
            marks[scale.column(happening.at)] = str(happening.number)
        if isinstance(happening, ProcessEnded) and happening.code < 0:
            marks[min(scale.column(happening.at) + 1, scale.columns - 1)] = "†"
    return Text.assemble(" " * _LABEL, ("".join(marks), "bold"))


def _seconds(scale: Timescale) -> Text:
    every_s = next(s for s in (1, 2, 5, 10, 20, 60, 600) if s / scale.step_s >= _LEAST_TICK or s == 600)
    labels = [" "] * (scale.columns + _LEAST_TICK)
    for tick in range(int(scale.columns * scale.step_s / every_s) + 1):
        text, column = f"{tick * every_s} s", int(tick * every_s / scale.step_s)
        labels[column : column + len(text)] = text
    return Text(" " * _LABEL + "".join(labels[: scale.columns]), style="dim", no_wrap=True)
