"""The table of members: who they are, how they stand with the group, what they own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from membership_client import MemberState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from membership_client.demo.board import Board, Row
    from membership_client.demo.colours import Colours

_STATES = {
    MemberState.UNSUBSCRIBED: "dim",
    MemberState.JOINING: "bold cyan",
    MemberState.RECONCILING: "bold yellow",
    MemberState.ACK: "bold yellow",
    MemberState.STABLE: "bold green",
    MemberState.LEAVING: "bold magenta",
}
_ALARM = "bold white on red"


def members_view(board: Board, colours: Colours, now: float) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="dim")
    for heading in ("member", "pid", "instance id", "state", "epoch", "heartbeat", "owns"):
        table.add_column(heading, no_wrap=True, ratio=2 if heading == "owns" else None)
    for name, row in board.rows.items():
        table.add_row(
            Text(f"● {name}", style=f"bold {colours[name]}"),
            str(row.pid),
            row.instance_id or Text("dynamic", style="dim"),
            _state(row),
            str(row.seen.epoch) if row.seen and row.exit_code is None else "",
            _heartbeat(row, now),
            _owned(board.owned_by(name), colours[name]),
        )
    return table


def _state(row: Row) -> Text:
    if row.exit_code is not None:
        return Text("KILLED", style=_ALARM) if row.exit_code < 0 else Text("left", style="dim")
    if row.seen is None:
        return Text("starting", style="dim")
    return Text(row.seen.state.name, style=_STATES.get(row.seen.state, _ALARM))


def _heartbeat(row: Row, now: float) -> Text:
    """The age of the last confirmation: bright when fresh, alarming when the next is overdue."""
    if row.seen is None or row.seen.confirmed_at is None or row.exit_code == 0:
        return Text()
    age_s, interval_s = max(0.0, now - row.seen.confirmed_at), row.seen.interval_s or 1.0
    overdue = row.exit_code is not None or age_s > 1.5 * interval_s
    style = _ALARM if overdue else "bold red" if age_s < interval_s / 3 else "red dim"
    return Text.assemble(("♥", style), f" {age_s:.1f} s")


def _owned(partitions: Sequence[int], colour: str) -> Text:
    cells = [piece for p in partitions for piece in ((f" {p} ", f"bold black on {colour}"), " ")]
    return Text.assemble(*cells) if cells else Text("nothing", style="dim")
