"""The kit of both demonstrations, `membership-client demo` and `membership-client-spark demo`: shared values and pictures."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A sentence of the demonstration itself. `at` is the monotonic clock."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeen:
    """The group as its coordinator describes it. Its epoch grows with every rebalance."""

    at: float
    epoch: int
    members: int


def picture_console(width: int) -> Console:
    """A console that records what is printed, for `save_picture`. Needs rich."""
    from rich.console import Console  # noqa: PLC0415 - rich is an extra

    return Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")


def save_picture(console: Console, file: Path, *, title: str, unique_id: str) -> None:
    """Write what the console has printed to an SVG file."""
    svg = console.export_svg(title=title, unique_id=unique_id)
    # Without fonts from the network: the picture fetches nothing, and the reader's monospaced font is used.
    file.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))
