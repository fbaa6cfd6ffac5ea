"""`membership-client replay`."""

from __future__ import annotations

from pathlib import Path

import pytest

from membership_client.cli.program import main
from tests.trace.test_replay import longest_life, recorded


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = recorded(longest_life(), tmp_path_factory.mktemp("traces") / "trace")
    return path


def test_a_trace_that_replays_is_said_to(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints one line per run, and exits with 0."""
    assert main(["replay", str(trace)]) == 0
    assert "steps, all as recorded" in capsys.readouterr().out


def test_a_trace_that_does_not_replay_fails_the_command(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the line that differs, and exits with 1."""
    changed = tmp_path / "changed"
    changed.write_text(trace.read_text().replace('"epoch":0', '"epoch":7'))
    assert main(["replay", str(trace), str(changed)]) == 1
    assert "when replayed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hello\n", "not a line of a trace"),
        ('{"trace":1}\n', "line 1: 'group' is missing"),
        ("{HEADER}\n{}\n", "line 2: 'at' is missing"),
    ],
)
def test_what_is_no_trace_is_a_wrong_command(
    text: str, told: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is on standard error, with exit code 2; an incomplete header or line once ended in a traceback."""
    header = trace.read_text().splitlines()[0]
    (tmp_path / "notes").write_text(text.replace("{HEADER}", header))
    assert main(["replay", str(tmp_path / "notes")]) == 2
    assert told in capsys.readouterr().err


def test_a_file_in_which_nothing_was_written_is_said_to_be_one(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other files are replayed all the same."""
    (tmp_path / "empty").touch()
    assert main(["replay", str(tmp_path / "empty"), str(trace)]) == 0
    nothing, replayed = capsys.readouterr().out.splitlines()
    assert nothing == f"{tmp_path / 'empty'}: nothing was recorded"
    assert "all as recorded" in replayed
