"""Probes without a port: a file, and the command that reads it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from membership_client import ConfigError, GroupMember, MemberState, health
from membership_client.health.file import trouble_of
from membership_client.testing import EmbeddedKafka
from tests.health.probing import FAST, config, status
from tests.integration.members import PATIENCE_S, eventually


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 4}, settings=FAST) as kafka:
        yield kafka


def probe(*arguments: str | Path) -> tuple[int, str]:
    """The command's exit code and output."""
    command = [sys.executable, "-m", "membership_client.health", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_file_from_beginning_to_end(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    """The file is written at once, renewed, and removed at the end. A missing file fails the probe."""
    path = tmp_path / "health.json"
    with GroupMember(config(kafka)) as member:
        with health.write(path, member, every_s=0.1):
            assert trouble_of(path, "live", 10) is None
            assert "not ready: [shop/" in str(trouble_of(path, "ready", 10))
            assert probe(path) == (0, "")
            assert probe(path, "--ready")[0] == 1
            member.subscribe(["orders"])
            member.wait_until(MemberState.STABLE, PATIENCE_S)
            eventually(lambda: trouble_of(path, "ready", 10) is None, "the file tells that it is ready")
            assert probe(path, "--started") == (0, "")
        assert list(tmp_path.iterdir()) == []
    assert probe(path) == (1, f"{path}: there is no report\n")


def test_workers_that_share_a_directory(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    """A worker that stands still, or is not live, fails the probe; files of ended workers, and other files, do not."""
    with GroupMember(config(kafka)) as member, health.write(tmp_path / "{pid}.json", member, every_s=0.1):
        (tmp_path / "README").write_text("not a report")
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        mine = json.loads((tmp_path / f"{os.getpid()}.json").read_text())
        (tmp_path / "ended.json").write_text(json.dumps(mine | {"pid": ended.pid, "live": False}))
        assert trouble_of(tmp_path, "live", 10) is None
        other = tmp_path / "other.json"
        other.write_text(json.dumps(mine | {"pid": os.getppid(), "live": False, "why": "fatal"}))
        assert trouble_of(tmp_path, "live", 10) == f"{other}: not live: fatal"
        other.write_text(json.dumps(mine | {"pid": os.getppid(), "at_s": mine["at_s"] - 60}))
        assert f"{other}: process {os.getppid()} has written nothing for 6" in str(trouble_of(tmp_path, "live", 10))


_REPORT = {"pid": 1, "at_s": 0.0, "live": True, "ready": True, "started": True, "why": ""}
HOSTILE = {
    "nested": "[" * 100_000,
    "a process of 40 digits": json.dumps(_REPORT | {"pid": 10**40}),
    "no process": json.dumps(_REPORT | {"pid": -1}),
    "a flag for a process": json.dumps(_REPORT | {"pid": True}),
    "no time": json.dumps(_REPORT | {"at_s": float("nan")}),
    "endless": json.dumps(_REPORT) + " " * 2**20,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_is_no_report(tmp_path: Path, content: str) -> None:
    """The probe prints a sentence, for a file and for a directory; it once printed a traceback."""
    path = tmp_path / "health.json"
    path.write_text(content)
    assert trouble_of(path, "live", 10) == f"{path}: there is no report"
    assert trouble_of(tmp_path, "live", 10) == f"{tmp_path}: no process writes its health there"


def test_a_pipe_is_no_report(tmp_path: Path) -> None:
    """The probe once waited until a process wrote into the pipe."""
    path = tmp_path / "health.json"
    os.mkfifo(path)
    assert trouble_of(path, "live", 10) == f"{path}: there is no report"


def test_no_link_is_followed(tmp_path: Path) -> None:
    """With a symbolic link in a shared directory, another user once could make this process overwrite one of its files."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / f".health.json.{os.getpid()}").symlink_to(precious)
    (tmp_path / "health.json").symlink_to(precious)
    with health.write(tmp_path / "health.json"):
        assert set(json.loads((tmp_path / "health.json").read_text())) >= set(_REPORT)
    assert precious.read_text() == "mine"


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    """The error is raised by `write`."""
    with pytest.raises(ConfigError, match=r"The health of this process cannot be written to .*: No such file"):
        health.write(tmp_path / "none" / "health.json")


def test_a_process_that_stands_still(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    """It is stopped by a signal, or does not poll: both probes fail, and succeed again when it goes on."""
    path = tmp_path / "health.json"
    command = [sys.executable, "-m", "tests.health.member_program", kafka.bootstrap_servers, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            port = int(process.stdout.readline())
            eventually(lambda: status(port, "/readyz") == 200, "the consumer is ready")
            os.kill(process.pid, signal.SIGSTOP)
            eventually(lambda: status(port, "/livez", timeout_s=0.5) is None, "the probe has no answer")
            eventually(lambda: trouble_of(path, "live", 1.0), "the file is old")
            os.kill(process.pid, signal.SIGCONT)
            eventually(lambda: status(port, "/livez") == 200, "the process goes on")
            eventually(lambda: trouble_of(path, "live", 10.0) is None, "the file is new")
            process.stdin.write("stop polling\n")
            process.stdin.flush()
            eventually(lambda: status(port, "/livez") == 503, "the probe notices that it does not poll")
            eventually(lambda: "does not poll" in str(trouble_of(path, "live", 10.0)), "and so does the file")
        finally:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()
