"""The figures as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import confluent_kafka

from membership_client.testing.jars import KAFKA_VERSION
from tests.benchmarks.figures import Figure
from tests.peers.peer import KINDS

_HEADER = ("", "ours", "confluent", "java", "ratio", "promise", "", "how")


def table(figures: Sequence[Figure]) -> str:
    """One line per figure, in columns."""
    rows = [_HEADER, *map(_row, figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Names and explanations to the left, numbers to the right."""
    cells = (
        cell.ljust(width) if at in {0, 5, 6, 7} else cell.rjust(width) for at, (cell, width) in _pairs(row, widths)
    )
    return "  ".join(cells).rstrip()


def _pairs(row: Sequence[str], widths: Sequence[int]) -> Iterable[tuple[int, tuple[str, int]]]:
    return enumerate(zip(row, widths, strict=True))


def _row(figure: Figure) -> tuple[str, ...]:
    numbers = (_number(figure.values.get(kind)) for kind in KINDS)
    verdict = {None: "", True: "kept", False: "MISSED"}[figure.met]
    promise = str(figure.limit) if figure.limit else ""
    return (f"{figure.name} [{figure.unit}]", *numbers, _number(figure.ratio), promise, verdict, figure.how)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def as_json(figures: Iterable[Figure]) -> str:
    """With the machine and the versions, without which figures mean nothing."""
    found = [asdict(figure) | {"ratio": figure.ratio, "met": figure.met} for figure in figures]
    return json.dumps({"setting": setting(), "figures": found}, indent=2)


def setting() -> dict[str, Any]:
    """Where and with what it was measured."""
    return {
        "cpus": os.cpu_count(),
        "load": os.getloadavg(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "confluent_kafka": confluent_kafka.__version__,
        "kafka": KAFKA_VERSION,
    }
