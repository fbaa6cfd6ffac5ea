"""Traces of simulated groups, whose members share one clock: what happened is the same in every run."""

from __future__ import annotations

import json
from pathlib import Path

from membership_client.debugger.commands.report_command import compose
from membership_client.debugger.report.content import ReportContent
from membership_client.trace import Section, read_trace
from tests.trace.test_replay import lives, recorded

BEGAN = 1_790_000_000.0
"""The time of day at which the simulation's clock shows 0."""
SKEW_S = 0.5


def traces(seed: int, folder: Path) -> list[Path]:
    found = []
    for number, steps in lives(seed).items():
        (path,) = recorded(steps, folder / f"{number}.jsonl")
        _share_clock(path, number)
        found.append(path)
    return found


def _share_clock(path: Path, pid: int) -> None:
    """The journal took this process's clock and id, which have nothing to do with the simulation."""
    first, rest = path.read_text().split("\n", 1)
    header = json.loads(first) | {"wall": BEGAN, "at": 0.0, "host": "simulated", "pid": pid}
    path.write_text(json.dumps(header) + "\n" + rest)


def sections(seed: int, folder: Path) -> list[Section]:
    return [section for path in traces(seed, folder) for section in read_trace(path)]


def scene(seed: int, folder: Path) -> ReportContent:
    return compose(sections(seed, folder), SKEW_S)
