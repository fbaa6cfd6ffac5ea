"""The command line says what it can do, and what is wrong with what it was given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from membership_client.demo.kit import CANNOT_RUN
from membership_client_spark.cli import main
from membership_client_spark.demo import orders


def test_help_tells_what_the_demonstration_shows(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["demo", "--help"])
    shown = capsys.readouterr().out
    for expected in ("SIGKILL", "--records", "--keep", "example:", "Java 17"):
        assert expected in shown


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["demo", "--records", "99"],
        ["demo", "--records", "many"],
        ["demo", "--records", "9" * 5000],
        ["demo", "--keep", ""],
        ["demo", "--keep", "a\0b"],
        ["demo", "--svg", ""],
        ["demo", "--svg", "a\0b"],
    ],
)
def test_a_wrong_command_line_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A path with NUL was a traceback, and an empty one the directory in which the command was called."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: membership-client-spark" in capsys.readouterr().err


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()
    assert main(["demo", "--keep", str(tmp_path)]) == CANNOT_RUN
    assert "give a directory that is new or empty" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_a_picture_that_cannot_be_written_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--svg", str(tmp_path / "nowhere" / "demo.svg")]) == CANNOT_RUN
    assert "there is no such directory" in capsys.readouterr().err


def test_without_java_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is started."""
    monkeypatch.setattr(orders, "find_java", lambda: None)
    assert main(["demo"]) == CANNOT_RUN
    assert "Spark needs Java 17 or newer, and none was found. Install one" in capsys.readouterr().err


def test_without_the_jars_of_kafka_the_broker_is_an_embedded_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As after `pip install`: the demonstration said to run a script that only a checkout has."""
    monkeypatch.setenv("MEMBERSHIP_CLIENT_CACHE", str(tmp_path))
    monkeypatch.setattr(orders, "find_java", lambda: Path("java"))
    with orders.embedded_broker() as broker:
        assert broker.title.startswith("EmbeddedKafka")
        orders.create_topic(broker.bootstrap_servers)
        assert orders.produce(broker.bootstrap_servers, 100) == sum(map(orders.cents_of, range(100)))


@pytest.mark.parametrize("package", ["pyarrow", "pyspark"])
def test_without_what_the_extra_brings_it_names_the_extra(package: str) -> None:
    """The error names the extra, and not only a missing module."""
    program = f"import sys; sys.modules[{package!r}] = None; import membership_client_spark.cli"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.stderr.endswith(f"needs {package}, which is not installed: pip install 'membership-client[spark]'\n")
