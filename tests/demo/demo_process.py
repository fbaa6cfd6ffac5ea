"""Runs the demonstration as a user does, in a process of its own, and finds all processes that it leaves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

LIMIT_S = 90
_MARK = "MEMBERSHIP_CLIENT_DEMO_TEST"


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, and an environment variable by which all its descendants are found."""

    arguments: tuple[str, ...]
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "membership_client", "demo", *self.arguments]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {_MARK: self.mark, "PYTHONUNBUFFERED": "1"}

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run the demonstration until it ends by itself."""
        return subprocess.run(
            self.command, env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    def start(self) -> subprocess.Popen[str]:
        """Start it with its output on a pipe. SIGINT is enabled, even if the tests run in the background."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                self.command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        finally:
            signal.signal(signal.SIGINT, before)

    def descendants(self) -> list[int]:
        """All live processes that it started, directly or not."""
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._is_ours(entry)]

    def _is_ours(self, process: Path) -> bool:
        try:
            ours = f"{_MARK}={self.mark}".encode() in (process / "environ").read_bytes().split(b"\0")
            return ours and "\nState:\tZ" not in (process / "status").read_text()
        except OSError:
            return False

    def await_silence(self, seconds: float) -> list[int]:
        """Wait until no process is left, or the time is over; returns those that are left."""
        deadline = time.monotonic() + seconds
        while (left := self.descendants()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One step, parsed from the plain summary."""

    title: str
    facts: dict[str, str]
    met: list[str]
    unmet: list[str]


def parse_summary(output: str) -> list[StepSummary]:
    """The steps of the summary, in order."""
    steps: list[StepSummary] = []
    for line in output.partition("SUMMARY")[2].splitlines():
        if heading := re.match(r"step \d+/\d+: (.*?)(?: \([\d.]+ s\))?$", line):
            steps.append(StepSummary(heading[1], {}, [], []))
        elif fact := re.match(r"    (.*?): (.*)", line):
            _note(steps[-1], fact[1], fact[2])
    return steps


def _note(step: StepSummary, key: str, value: str) -> None:
    if key == "ok":
        step.met.append(value)
    elif key == "NOT AS EXPECTED":
        step.unmet.append(value)
    else:
        step.facts[key] = value
