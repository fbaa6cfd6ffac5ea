"""The picture of a run, as an SVG file: what its terminal showed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.text import Text

_WIDTH = 100


def take_photo(printed: Iterable[tuple[str, str]], file: Path) -> None:
    """Of lines, each with its style."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for text, style in printed:
        console.print(Text(text, style=style))
    svg = console.export_svg(title="membership-client-spark demo", unique_id="spark-demo")
    # The picture fetches nothing: fonts from the network are left out, and a monospaced one of the reader's is used.
    file.write_text(re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL))
