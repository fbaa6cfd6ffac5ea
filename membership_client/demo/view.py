"""The live view as a rich renderable: a pure function of what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Group
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from membership_client.demo.board import Board, board_of
from membership_client.demo.colours import Colours
from membership_client.demo.facts import facts_of
from membership_client.demo.happenings import Happening
from membership_client.demo.lanes_view import lanes_view
from membership_client.demo.members_view import members_view
from membership_client.demo.story import Line, Tone, lines_of, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

_TONES: dict[Tone, str] = {
    "step": "bold",
    "note": "dim",
    "act": "",
    "gain": "green",
    "give": "yellow",
    "calm": "dim",
    "bad": "bold red",
}
_FRAME_LINES = 10
"""What the view takes beside members, lanes and timeline: borders, headlines, headings, rules, axes."""
_FEWEST_LINES, _MOST_LINES = 3, 16
_BORDER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Everything the view shows, at one moment."""

    happenings: Sequence[Happening]
    began_at: float
    now: float
    width: int
    height: int


def render(picture: Picture) -> RenderableType:
    """Fits a terminal of 80 columns and 24 lines, and fills a larger one."""
    board = board_of(picture.happenings)
    colours = Colours(board)
    partitions = board.stage.partitions if board.stage else 0
    room = picture.height - _FRAME_LINES - max(3, len(board.rows)) - partitions
    stage = board.stage
    title = f"group {stage.group} · topic {stage.topic}" if stage else "membership-client demo"
    where = stage.title if stage else "setting the stage"
    return Panel(
        Group(
            _headline(board, picture.now),
            _score(picture.happenings, board),
            members_view(board, colours, picture.now),
            Rule("who owned which partition, over time (▒ nobody)", style="dim"),
            lanes_view(picture.happenings, partitions, colours, picture.now, picture.width - _BORDER),
            Rule("what happened, and why", style="dim"),
            *_timeline(picture, colours, min(_MOST_LINES, max(_FEWEST_LINES, room))),
        ),
        title=f"[bold]{title}[/]",
        subtitle=f"{where} · {picture.now - picture.began_at:.1f} s",
        border_style="blue",
        width=picture.width,
    )


def _headline(board: Board, now: float) -> Text:
    step = board.step
    title = f"{step.number}/{step.of}  {step.title}" if step else f"setting the stage {'.' * (int(2 * now) % 4)}"
    return Text(title, style="bold", no_wrap=True, overflow="ellipsis")


def _score(happenings: Sequence[Happening], board: Board) -> Text:
    """What the running step has come to so far."""
    score = ""
    if board.step is not None:
        facts = facts_of(happenings)[-1]
        others = ", ".join(name for name in board.rows if name not in board.step.actors)
        score = f"moved: {numbers(facts.moved)} · without owner: {facts.longest_ownerless_s:.2f} s"
        score += f" · callbacks of {others}: {facts.bystander_callbacks}" if others else ""
    return Text(f"     {score}", style="cyan", no_wrap=True, overflow="ellipsis")


def _timeline(picture: Picture, colours: Colours, room: int) -> list[Text]:
    told = [_told(line, picture.began_at, colours) for line in lines_of(picture.happenings)[-room:]]
    return told + [Text()] * (room - len(told))


def _told(line: Line, began_at: float, colours: Colours) -> Text:
    who = (f"{line.who} ", f"bold {colours[line.who]}") if line.who else ("", "")
    told = Text.assemble((f"{line.at - began_at:5.1f} s  ", "dim"), who, (line.text, _TONES[line.tone]))
    told.no_wrap, told.overflow = True, "ellipsis"
    return told
