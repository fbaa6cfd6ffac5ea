"""Prints the story and the summary: in colours where there is a terminal and rich, as plain lines elsewhere."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from membership_client.demo.kit import picture_console, save_picture
from membership_client_spark.demo.happenings import Happening
from membership_client_spark.demo.story import PipelineStoryteller, Tone
from membership_client_spark.demo.summary import PipelineSummary, table_lines, verdict

STYLES: dict[Tone, str] = {"note": "dim", "act": "", "gain": "green", "bad": "bold red"}
_PICTURE_WIDTH = 100


class Screen:
    """`printed` is what was shown so far, each line with its style, for a picture of it."""

    def __init__(self, began_at: float) -> None:
        self._began_at = began_at
        self._story = PipelineStoryteller()
        self._print = _printer()
        self.printed: list[tuple[str, str]] = []

    def tell(self, happening: Happening) -> None:
        for line in self._story.tell(happening):
            self._show(f"[{line.at - self._began_at:5.1f}s] {line.text}", STYLES[line.tone])

    def show(self, summary: PipelineSummary) -> None:
        for line in ("", *table_lines(summary), ""):
            self._show(line, "")
        self._show(verdict(summary), "bold green" if summary.as_expected else "bold red")

    def _show(self, text: str, style: str) -> None:
        self.printed.append((text, style))
        self._print(text, style)


def _printer() -> Callable[[str, str], None]:
    if not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        return lambda text, _: print(text, flush=True)
    from rich.console import Console  # noqa: PLC0415 - rich is an extra
    from rich.text import Text  # noqa: PLC0415

    console = Console()
    return lambda text, style: console.print(Text(text, style=style))


def take_photo(printed: Iterable[tuple[str, str]], file: Path) -> None:
    """Write lines, each with its style, to an SVG file. Needs rich."""
    from rich.text import Text  # noqa: PLC0415 - rich is an extra

    console = picture_console(_PICTURE_WIDTH)
    for text, style in printed:
        console.print(Text(text, style=style))
    save_picture(console, file, title="membership-client-spark demo", unique_id="spark-demo")
