"""Errors of commands about traces and files that they cannot use: plain sentences with the file's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from membership_client.cli.program import main
from membership_client.trace.reading import UnreadableTraceError, read_trace
from membership_client.trace.values import decode
from membership_client.types import TopicPartition
from tests.report.story import known_run


@pytest.mark.parametrize("command", ["diagnose", "replay"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dropped": -5}, "line 1: -5 is no number of steps; it was"),
        ({"start": {"__import__": 1}}, "line 1: '__import__' is missing, or this version does not know it; it was"),
        ({"pid": "x"}, "line 1: 'x' where int is expected; it was"),
    ],
)
def test_a_header_that_cannot_be_is_refused_in_words(
    command: str, change: dict[str, object], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The errors once were KeyError('__import__') and the like, and -5 missing steps were accepted."""
    trace = known_run(tmp_path)[0]
    header, *rest = trace.read_text().splitlines()
    trace.write_text("\n".join([json.dumps(json.loads(header) | change), *rest, ""]).replace('{"trace": ', '{"trace":'))
    assert main([command, str(trace)]) == 2
    assert words in capsys.readouterr().err


def test_a_partition_that_is_none_is_refused_in_words() -> None:
    """The error once was "invalid literal for int() with base 10"."""
    with pytest.raises(ValueError, match="'orders-x' is no partition"):
        decode(TopicPartition, "orders-x")


@pytest.mark.parametrize("command", ["diagnose", "report"])
def test_a_broker_log_that_cannot_be_read_is_a_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error once was "[Errno 21] Is a directory: 'dir'"."""
    assert main([command, str(known_run(tmp_path)[0]), "--broker-log", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path} cannot be read: Is a directory.\n"


def test_a_report_that_cannot_be_written_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error once was "[Errno 21] Is a directory", too."""
    assert main(["report", str(known_run(tmp_path)[0]), "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path} cannot be written: Is a directory.\n"


def test_a_trace_that_may_not_be_read_gets_advice_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice once was to get a new trace. The error is simulated, because root may read everything."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableTraceError, match=r"Permission denied\. Run the command as a user who may read"):
        read_trace(tmp_path / "trace.jsonl")


def test_one_is_not_plural(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text once was "1 members"."""
    assert main(["report", str(known_run(tmp_path)[0]), "-o", str(tmp_path / "out.html")]) == 0
    assert ": 1 member, 2 partitions, 0 findings, 1 rebalance without a fault\n" in capsys.readouterr().out
