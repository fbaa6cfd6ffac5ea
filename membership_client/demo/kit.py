"""Shared by both demonstrations, `membership-client demo` and `membership-client-spark demo`: values, exit codes, pictures."""

from __future__ import annotations

import importlib.util
import io
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
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


def numbers(partitions: Iterable[int]) -> str:
    return " ".join(map(str, partitions)) or "nothing"


# --- exit codes and signals ------------------------------------------------------------------------------------------

OK, NOT_AS_EXPECTED, CANNOT_RUN, INTERRUPTED = 0, 1, 2, 130


def interrupt_on_signals() -> None:
    """From now on SIGTERM and SIGHUP end the demonstration as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # As nohup sets it.
            signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


# --- pictures --------------------------------------------------------------------------------------------------------


def svg_problem(file: Path | None) -> str | None:
    """Why no picture can be saved in the file, before anything is started; None if it can, or none is wanted."""
    if file is None:
        return None
    if importlib.util.find_spec("rich") is None:
        return "--svg needs rich: pip install 'membership-client[cli]'."
    return None if file.absolute().parent.is_dir() else f"--svg {file}: there is no such directory."


def picture_console(width: int) -> Console:
    """A console that records what is printed, for `save_picture`. Needs rich."""
    from rich.console import Console  # noqa: PLC0415 - rich is an extra

    return Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")


def save_picture(console: Console, file: Path, *, title: str, unique_id: str) -> None:
    """Write what the console has printed to an SVG file."""
    svg = console.export_svg(title=title, unique_id=unique_id)
    # Without fonts from the network: the picture fetches nothing, and the reader's monospaced font is used.
    file.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))
