"""The help of the command line, and errors for wrong arguments."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from membership_client.cli.program import main
from membership_client.demo import run as demo_run
from membership_client.demo.kit import CANNOT_RUN
from membership_client.demo.recording import Recording
from membership_client.demo.run import Options
from membership_client.demo.sentences import PlainView

if TYPE_CHECKING:
    from pathlib import Path


def test_help_tells_what_the_demonstration_shows(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["demo", "--help"])
    shown = capsys.readouterr().out
    for expected in ("SIGKILL", "--broker", "--bootstrap-servers", "--plain", "--svg", "deleted at the end"):
        assert expected in shown


@pytest.mark.parametrize(
    "arguments",
    [[], ["dance"], ["demo", "--broker", "rabbit"], ["demo", "--broker", "embedded", "--bootstrap-servers", "h:1"]],
)
def test_a_wrong_command_line_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: membership-client" in capsys.readouterr().err


def test_help_does_not_wait_for_kafka_libraries() -> None:
    """--help answers at once."""
    script = "import sys, membership_client.cli.program; sys.exit('confluent_kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_an_address_without_a_broker_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--plain", "--bootstrap-servers", "127.0.0.1:1"]) == CANNOT_RUN
    assert "No broker answers at 127.0.0.1:1" in capsys.readouterr().err


def test_an_address_that_cannot_work_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--plain", "--bootstrap-servers", "localhost:99999"]) == CANNOT_RUN
    assert "'localhost:99999' is not host:port" in capsys.readouterr().err


def test_a_picture_that_cannot_be_written_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--svg", str(tmp_path / "nowhere" / "demo.svg")]) == CANNOT_RUN
    assert "no such directory" in capsys.readouterr().err


def test_kafka_without_java_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMBERSHIP_CLIENT_CACHE", str(tmp_path))
    assert main(["demo", "--plain", "--broker", "kafka"]) == CANNOT_RUN
    assert "scripts/provide.py kafka-4" in capsys.readouterr().err


def test_plain_can_be_forced_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_run, "_is_screen", lambda: True)
    assert isinstance(demo_run._view(Options(plain=True), Recording()), PlainView)


def test_without_rich_a_terminal_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_run, "_is_screen", lambda: True)
    monkeypatch.setitem(sys.modules, "membership_client.demo.live", None)
    assert isinstance(demo_run._view(Options(), Recording()), PlainView)
    assert "membership-client[cli]" in capsys.readouterr().out


def test_a_picture_without_rich_names_the_extra_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["demo", "--svg", str(tmp_path / "demo.svg")]) == CANNOT_RUN
    assert "membership-client[cli]" in capsys.readouterr().err
