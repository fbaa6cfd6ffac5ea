"""What the commands that measure have in common: their arguments, and how they tell what they found."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.report import as_json, table


def parse(program: str, description: str | None, measurements: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--only", action="append", choices=measurements, help="may be repeated; without it, all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--trial", action="store_true", help="tiny sizes: whether it works, not how fast")
    return parser.parse_args()


def tell(figures: Sequence[Figure], json: Path | None) -> int:
    """As a table, and as JSON where that is wanted. 0 if every promise was kept, 1 if not."""
    print(table(figures))  # noqa: T201 - the table is what it is for
    if json:
        json.write_text(as_json(figures))
    return int(any(figure.met is False for figure in figures))
