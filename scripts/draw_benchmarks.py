"""Draw docs/benchmarks.md and its picture from docs/benchmarks.json, or check that they are up to date (--check).

After `.venv/bin/python -m tests.benchmarks --json docs/benchmarks.json` on an idle machine, run this.
"""

from __future__ import annotations

import json
import math
import sys
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
PAGE, PICTURE, DATA = DOCS / "benchmarks.md", DOCS / "images" / "benchmarks.svg", DOCS / "benchmarks.json"

HEAD = """# Benchmarks

For people who want figures. Each line is one thing measured for this library and, in the same run, for confluent-kafka's consumer and
Kafka's Java consumer, on one machine with one broker. `scripts/draw_benchmarks.py` draws this page from the figures that this command wrote:

```console
$ .venv/bin/python -m tests.benchmarks --json docs/benchmarks.json
```

![A bar per figure and other client: how many times as much ours is; blue where that is better, orange where it is worse](images/benchmarks.svg)

The number beside each bar is our figure divided by the other client's: 0.5 is half as much, 2 is twice as much. A bar to the left of the line
means less, a bar to the right more, in powers of ten. Blue: ours is better. Orange: ours is worse. `promised` says whether our figure keeps
the limit that the benchmark has for it.

"""

PEERS = {"confluent": "confluent-kafka", "java": "Java"}
ROW, LEFT, WIDTH = 22, 420, 900
DECADE = 130
"""How far apart 1 and 10 are, in pixels."""


def page(data: dict[str, Any]) -> str:
    rows = [_row(figure) for figure in data["figures"]]
    head = "| | unit | ours | confluent-kafka | Java | promised | how |\n|---|---|---|---|---|---|---|"
    return HEAD + _setting(data["setting"]) + "\n\n" + "\n".join([head, *rows]) + "\n"


def _setting(told: dict[str, Any]) -> str:
    load = ", ".join(f"{one:.1f}" for one in told["load"])
    programs = f"Python {told['python']}, confluent-kafka {told['confluent_kafka']}, Kafka {told['kafka']}"
    return f"Measured on {told['system']} with {told['cpus']} processors (load before the run: {load}), {programs}."


def _row(figure: dict[str, Any]) -> str:
    values = [_number(figure["values"].get(kind)) for kind in ("ours", "confluent", "java")]
    promised = {None: "", True: "kept", False: "missed"}[figure["met"]]
    return "| " + " | ".join([figure["name"], figure["unit"], *values, promised, figure["how"]]) + " |"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def picture(data: dict[str, Any]) -> str:
    """A bar per figure and peer: to the left of the line ours is less, to the right more, by powers of ten."""
    bars = [
        (f"{figure['name']} [{figure['unit']}], {PEERS[peer]}", ours / theirs, figure["unit"].endswith("/s"))
        for figure in data["figures"]
        if (ours := figure["values"].get("ours"))
        for peer in PEERS
        if (theirs := figure["values"].get(peer))
    ]
    height = ROW * (len(bars) + 1)
    middle = LEFT + 2 * DECADE
    lines = [_bar(ROW * at + 8, *bar, middle) for at, bar in enumerate(bars)]
    axis = f'<line x1="{middle}" x2="{middle}" y1="0" y2="{height}" stroke="#888"/>'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([opening, f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', axis, *lines, "</svg>\n"])


def _bar(y: int, name: str, ratio: float, more_is_better: bool, middle: int) -> str:
    length = max(-2.0, min(1.2, math.log10(ratio))) * DECADE
    left, colour = min(middle, middle + length), "#3f6fb5" if (ratio >= 1) == more_is_better else "#d9822b"
    label = f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(name)}</text>'
    bar = f'<rect x="{left:.1f}" y="{y}" width="{abs(length):.1f}" height="14" fill="{colour}"/>'
    number = f'<text x="{WIDTH - 4}" y="{y + 11}" text-anchor="end">{_times(ratio)}</text>'
    return label + bar + number


def _times(ratio: float) -> str:
    """Two digits, without an exponent."""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.5f}".rstrip("0") if ratio < 0.001 else f"{ratio:.2g}"


def main() -> int:
    data = json.loads(DATA.read_text())
    drawn = {PAGE: page(data), PICTURE: picture(data)}
    if "--check" in sys.argv[1:]:
        return int(any(file.read_text() != text for file, text in drawn.items()))
    for file, text in drawn.items():
        file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
