"""The live view and the summary as rich renderables: pure functions of what happened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from membership_client import MemberState
from membership_client.demo.events import DemoEvent, ProcessEnded, StepBegan, StepKind
from membership_client.demo.facts import Facts, Span, facts_of, gaps, owned_spans
from membership_client.demo.kit import numbers
from membership_client.demo.recording import GroupState, group_state
from membership_client.demo.sentences import Sentence, Tone, sentences_of
from membership_client.demo.summary import verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

    from membership_client.demo.recording import MemberRow
    from membership_client.demo.summary import Check, Summary

_TONES: dict[Tone, str] = {
    "step": "bold",
    "note": "dim",
    "act": "",
    "gain": "green",
    "give": "yellow",
    "calm": "dim",
    "bad": "bold red",
}
# Okabe and Ito's colours, which people who confuse red and green can tell apart.
_COLOURS = ("#56b4e9", "#e69f00", "#3fbf8f", "#cc79a7")

_FRAME_LINES = 10
"""Lines of the view beside members, lanes and timeline: borders, headlines, headings, rules, axes."""
_FEWEST_LINES, _MOST_LINES = 3, 16
_BORDER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The values that the view shows at one moment."""

    events: Sequence[DemoEvent]
    began_at: float
    now: float
    width: int
    height: int


def render(picture: Picture) -> RenderableType:
    """The view for a terminal of at least 80 columns and 24 lines. It fills a larger one."""
    group = group_state(picture.events)
    colours = _colours(group)
    partitions = group.cluster.partitions if group.cluster else 0
    room = picture.height - _FRAME_LINES - max(3, len(group.rows)) - partitions
    cluster = group.cluster
    title = f"group {cluster.group} · topic {cluster.topic}" if cluster else "membership-client demo"
    where = cluster.title if cluster else "starting the cluster"
    return Panel(
        Group(
            _headline(group, picture.now),
            _figures(picture.events, group),
            _members(group, colours, picture.now),
            Rule("who owned which partition, over time (▒ no owner)", style="dim"),
            lanes_view(picture.events, partitions, colours, picture.now, picture.width - _BORDER),
            Rule("what happened, and why", style="dim"),
            *_timeline(picture, colours, min(_MOST_LINES, max(_FEWEST_LINES, room))),
        ),
        title=f"[bold]{title}[/]",
        subtitle=f"{where} · {picture.now - picture.began_at:.1f} s",
        border_style="blue",
        width=picture.width,
    )


def _colours(group: GroupState) -> dict[str, str]:
    """The colour of each member by name, in the order in which members first appeared. The next process of a member has the same."""
    return {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(group.rows)}


def _headline(group: GroupState, now: float) -> Text:
    step = group.step
    title = f"{step.number}/{step.of}  {step.title}" if step else f"starting the cluster {'.' * (int(2 * now) % 4)}"
    return Text(title, style="bold", no_wrap=True, overflow="ellipsis")


def _figures(events: Sequence[DemoEvent], group: GroupState) -> Text:
    """The figures of the running step so far."""
    score = ""
    if group.step is not None:
        facts = facts_of(events)[-1]
        others = ", ".join(name for name in group.rows if name not in group.step.members)
        score = f"moved: {numbers(facts.moved)} · without owner: {facts.longest_ownerless_s:.2f} s"
        score += f" · callbacks of {others}: {facts.others_callbacks}" if others else ""
    return Text(f"     {score}", style="cyan", no_wrap=True, overflow="ellipsis")


def _timeline(picture: Picture, colours: Mapping[str, str], room: int) -> list[Text]:
    lines = [_line(line, picture.began_at, colours) for line in sentences_of(picture.events)[-room:]]
    return lines + [Text()] * (room - len(lines))


def _line(line: Sentence, began_at: float, colours: Mapping[str, str]) -> Text:
    who = (f"{line.who} ", f"bold {colours[line.who]}") if line.who else ("", "")
    shown = Text.assemble((f"{line.at - began_at:5.1f} s  ", "dim"), who, (line.text, _TONES[line.tone]))
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown


# --- the table of members --------------------------------------------------------------------------------------------

_STATES = {
    MemberState.UNSUBSCRIBED: "dim",
    MemberState.JOINING: "bold cyan",
    MemberState.RECONCILING: "bold yellow",
    MemberState.ACK: "bold yellow",
    MemberState.STABLE: "bold green",
    MemberState.LEAVING: "bold magenta",
}
_ALARM = "bold white on red"


def _members(group: GroupState, colours: Mapping[str, str], now: float) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="dim")
    for heading in ("member", "pid", "instance id", "state", "epoch", "heartbeat", "owns"):
        table.add_column(heading, no_wrap=True, ratio=2 if heading == "owns" else None)
    for name, row in group.rows.items():
        table.add_row(
            Text(f"● {name}", style=f"bold {colours[name]}"),
            str(row.pid),
            row.instance_id or Text("dynamic", style="dim"),
            _state(row),
            str(row.seen.epoch) if row.seen and row.exit_code is None else "",
            _heartbeat(row, now),
            _owned(group.owned_by(name), colours[name]),
        )
    return table


def _state(row: MemberRow) -> Text:
    if row.exit_code is not None:
        return Text("KILLED", style=_ALARM) if row.exit_code < 0 else Text("left", style="dim")
    if row.seen is None:
        return Text("starting", style="dim")
    return Text(row.seen.state.name, style=_STATES.get(row.seen.state, _ALARM))


def _heartbeat(row: MemberRow, now: float) -> Text:
    """The age of the last confirmation: bright when new, red when the next one is overdue."""
    if row.seen is None or row.seen.confirmed_at is None or row.exit_code == 0:
        return Text()
    age_s, interval_s = max(0.0, now - row.seen.confirmed_at), row.seen.interval_s or 1.0
    overdue = row.exit_code is not None or age_s > 1.5 * interval_s
    style = _ALARM if overdue else "bold red" if age_s < interval_s / 3 else "red dim"
    return Text.assemble(("♥", style), f" {age_s:.1f} s")


def _owned(partitions: Sequence[int], colour: str) -> Text:
    cells = [piece for p in partitions for piece in ((f" {p} ", f"bold black on {colour}"), " ")]
    return Text.assemble(*cells) if cells else Text("nothing", style="dim")


# --- the summary -----------------------------------------------------------------------------------------------------

_HEADINGS = ("moved", "longest\nownerless", "callbacks\nall/others", "others'\nrebalances", "group\nepoch", "met")
"""The columns of the summary. `others` are the members that a step does not start, kill or end."""


def summary_view(summary: Summary, width: int) -> Group:
    title = f"computed from {summary.events} recorded events"
    table = Table(title=title, title_style="dim", width=width, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("step", ratio=1)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for facts, checks in summary.steps:
        table.add_row(*_row(facts, checks))
    style = "bold green" if summary.as_expected else "bold red"
    return Group(table, *_remarks(summary), Text(verdict(summary), style=style))


def _row(facts: Facts, checks: Sequence[Check]) -> list[str | Text]:
    met = sum(check.met for check in checks)
    longest = facts.longest_ownerless_s
    return [
        f"{facts.step.number} {facts.step.title}",
        str(len(facts.moved)),
        f"{longest:.2f} s" if longest else "-",
        f"{sum(facts.callbacks.values())} / {facts.others_callbacks}",
        str(facts.others_rebalances),
        f"{facts.epoch_before} → {facts.epoch_after}",
        Text(f"{met}/{len(checks)}", style="green" if met == len(checks) else "bold red"),
    ]


def _remarks(summary: Summary) -> list[Text]:
    """The expectations that were not met."""
    return [
        Text(f"Step {facts.step.number}: {check.text}.", style="red")
        for facts, checks in summary.steps
        for check in checks
        if not check.met
    ]


# --- a lane per partition, coloured by owner, with time from left to right -------------------------------------------

_LABEL = 4
_LEAST_TICK = 8


def lanes_view(
    events: Sequence[DemoEvent], partitions: int, colours: Mapping[str, str], now: float, width: int
) -> Group:
    """The lanes. Dots are before the first owner and after the last; hatched columns should have had an owner."""
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
    """The line with marks where steps began, and where a member was killed."""
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
"""The possible scales, in seconds per column. They are few, so that the scale seldom changes, and close, so that the picture is seldom half empty."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of one partition's lane."""

    owner: str | None
    """The member that owned the partition for the longest part of that time; None if it had no owner."""
    first: bool
    """Whether the owner's time begins in this column."""


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
