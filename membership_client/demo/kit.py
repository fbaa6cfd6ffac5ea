"""Code that `membership-client demo` and `membership-client-spark demo` share: values, exit codes, pictures."""

from __future__ import annotations

import importlib.util
import io
import re
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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


@contextmanager
def interruptible() -> Iterator[None]:
    """In its `with` block, SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does.

    C code that a signal interrupts may raise another exception (confluent-kafka: TypeError); then the block ends with
    KeyboardInterrupt as well. The handlers stay installed after the block.
    """
    arrived: list[int] = []

    def interrupt(number: int, _: object) -> None:
        arrived.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP.
            signal.signal(number, interrupt)
    try:
        yield
    except BaseException as error:
        if arrived:
            raise KeyboardInterrupt from error
        raise


# --- pictures --------------------------------------------------------------------------------------------------------


def svg_problem(file: Path | None) -> str | None:
    """Why no picture can be saved in the file; None if it can, or if no file is given. Called before anything is started."""
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
    # The fonts are left out, so that the picture fetches nothing from the network. Readers see their own monospaced font.
    file.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))
