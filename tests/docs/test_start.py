"""docs/start.md, followed by a program: what its reader types, and what the page says that comes back."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.testing import EmbeddedKafka

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0


class Shop:
    """The page's program in processes of its own, each with a file for what it prints."""

    def __init__(self, directory: Path, bootstrap_servers: str) -> None:
        self.directory = directory
        self._address = bootstrap_servers
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, name: str) -> tuple[subprocess.Popen[bytes], Path]:
        output = self.directory / f"{name}-{len(self._running)}.txt"
        command = [sys.executable, str(ROOT / "examples" / "shop.py"), self._address, name]
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
    """Until a whole line of the output matches."""
    deadline = time.monotonic() + PATIENCE_S
    while not re.search(f"^{line}$", output.read_text(), re.MULTILINE):
        assert time.monotonic() < deadline, f"{line!r} did not come: {output.read_text()}"
        time.sleep(0.05)


def test_what_the_page_promises(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """The first member has all, shares with the second, notices nothing of its death, and diagnose names the killed process."""
    _, first = shop.start("till-0")
    wait_for_line(first, r"got \[0, 1, 2, 3, 4, 5\] - joined the group")
    victim, second = shop.start("till-1")
    wait_for_line(second, r"got \[3, 4, 5\] - .*")
    wait_for_line(first, r"gave up \[3, 4, 5\] - group changed: the coordinator gave us a new target at epoch \d+")
    victim.kill()
    victim.wait()
    _, replacement = shop.start("till-1")
    wait_for_line(replacement, r"got \[3, 4, 5\] - joined the group")
    assert len(first.read_text().splitlines()) == 2
    shop.stop()
    traces = [str(trace) for trace in (shop.directory / "traces").glob("*.jsonl")]
    assert len(traces) == 3
    main(["diagnose", *traces])
    assert "KILLED" in capsys.readouterr().out
    assert main(["report", *traces, "-o", str(shop.directory / "report.html")]) == 0


def test_the_page_shows_the_program() -> None:
    """Letter by letter, without its docstring."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "start.md").read_text(), re.DOTALL)
    assert (ROOT / "examples" / "shop.py").read_text().endswith(block)
