"""`membership-client replay`."""

from __future__ import annotations

from pathlib import Path

import pytest

from membership_client.cli import main
from tests.trace.test_replay import longest_life, recorded


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = recorded(longest_life(), tmp_path_factory.mktemp("traces") / "trace")
    return path


def test_a_trace_that_replays_is_said_to(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line per run, and exit code 0."""
    assert main(["replay", str(trace)]) == 0
    assert "steps, all as recorded" in capsys.readouterr().out


def test_a_trace_that_does_not_replay_fails_the_command(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the line that comes out differently, and exit code 1."""
    changed = tmp_path / "changed"
    changed.write_text(trace.read_text().replace('"epoch":0', '"epoch":7'))
    assert main(["replay", str(trace), str(changed)]) == 1
    assert "when replayed" in capsys.readouterr().out


def test_what_is_no_trace_is_a_wrong_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit code 2."""
    (tmp_path / "notes").write_text("hello\n")
    assert main(["replay", str(tmp_path / "notes")]) == 2
    assert "not a line of a trace" in capsys.readouterr().err
