"""Follows docs/start.md by a program: types what the page says, and compares the output."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.testing import EmbeddedKafka

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "start.md"
PATIENCE_S = 120.0

pytestmark = pytest.mark.timeout(900)


class Shop:
    """The page's program in several processes, each with a file for its output."""

    def __init__(self, directory: Path, bootstrap_servers: str) -> None:
        self.directory = directory
        self.address = bootstrap_servers
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, name: str) -> tuple[subprocess.Popen[bytes], Path]:
        output = self.directory / f"{name}-{len(self._running)}.txt"
        command = [sys.executable, str(ROOT / "examples" / "shop.py"), self.address, name]
        with output.open("w") as file:
            self._running.append(subprocess.Popen(command, stdout=file, cwd=self.directory))
        return self._running[-1], output

    def stop(self) -> None:
        for process in self._running:
            process.terminate()
        for process in self._running:
            process.wait(PATIENCE_S)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with EmbeddedKafka(topics={"orders": 6}) as kafka:
        started = Shop(tmp_path, kafka.bootstrap_servers)
        yield started
        started.stop()


def wait_for_line(output: Path, line: str) -> None:
    """Wait until a whole line of the output matches."""
    deadline = time.monotonic() + PATIENCE_S
    while not re.search(f"^{line}$", output.read_text(), re.MULTILINE):
        assert time.monotonic() < deadline, f"{line!r} did not come: {output.read_text()}"
        time.sleep(0.05)


def wait_until_traced(process: subprocess.Popen[bytes], traces: Path) -> None:
    """Wait until the trace of a member has both of its callbacks and the confirmation of the second one, which comes after the print in a callback."""
    (trace,) = traces.glob(f"*-{process.pid}.jsonl")
    deadline = time.monotonic() + PATIENCE_S
    while True:
        lines = trace.read_text().splitlines()
        if sum('"CallbackReturned"' in line for line in lines) == 2 and '"state":"STABLE"' in lines[-1]:
            return
        assert time.monotonic() < deadline, lines[-3:]
        time.sleep(0.05)


def run_the_producer(address: str) -> None:
    """Run the page's line with the address of this run."""
    (line,) = re.findall(r"^\$ bin/python (-c .*)$", PAGE.read_text(), re.MULTILINE)
    *arguments, _ = shlex.split(line)
    subprocess.run([sys.executable, *arguments, address], check=True, timeout=PATIENCE_S)


def promised_of_diagnose() -> list[str]:
    """The lines on the page without the count of findings, because a slow machine may add findings."""
    block = PAGE.read_text().partition("membership-client diagnose traces/*.jsonl\n")[2].partition("```")[0]
    return [line.rstrip(".") for line in block.splitlines() if line and not line.startswith("1 finding")]


def without_places(text: str) -> str:
    """The text without times, process and host, which differ from run to run."""
    return re.sub(r"\d{4}-\d\d-\d\d |\d\d:\d\d:\d\d(?:\.\d+)?|process \d+ on [^)]+", "...", text)


def test_what_the_page_promises(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """The first member has all partitions, shares with the second, is not affected by its death, and diagnose names the killed process."""
    _, first = shop.start("till-0")
    wait_for_line(first, r"got \[0, 1, 2, 3, 4, 5\] - joined the group")
    run_the_producer(shop.address)
    wait_for_line(first, "order two pears")
    victim, second = shop.start("till-1")
    wait_for_line(second, r"got \[3, 4, 5\] - .*")
    wait_for_line(first, r"gave up \[3, 4, 5\] - group changed: the coordinator gave us a new target at epoch \d+")
    wait_until_traced(victim, shop.directory / "traces")
    victim.kill()
    victim.wait()
    _, replacement = shop.start("till-1")
    wait_for_line(replacement, r"got \[3, 4, 5\] - joined the group")
    assert len(first.read_text().splitlines()) == 3
    shop.stop()
    traces = [str(trace) for trace in (shop.directory / "traces").glob("*.jsonl")]
    assert len(traces) == 3
    main(["diagnose", *traces])
    told = capsys.readouterr().out
    missing = [line for line in promised_of_diagnose() if without_places(line) not in without_places(told)]
    assert missing == [], told
    assert re.search(r"^\d+ findings?: KILLED\b.*; 2 rebalances without a fault\.$", told, re.MULTILINE), told
    assert main(["report", *traces, "-o", str(shop.directory / "report.html")]) == 0
    told = capsys.readouterr().out
    assert re.search(r"2 members, 6 partitions, \d+ findings?, 2 rebalances without a fault", told), told


def test_the_page_shows_the_program() -> None:
    """The text is the same letter by letter, without the docstring."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert (ROOT / "examples" / "shop.py").read_text().endswith(block)
