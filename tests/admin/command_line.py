"""Runs `membership-client groups`, and reads what it prints and shows on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from membership_client.testing import KafkaCluster

Run = Callable[..., int]


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def told(run: Run, group: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run("config", "show", group) == 0
    return capsys.readouterr().out


WIPE = "\r\x1b[K"


@contextlib.contextmanager
def looking(kafka: KafkaCluster, group: str, *, watch_s: int, stderr: int) -> Iterator[subprocess.Popen[str]]:
    """Runs a command that looks again and again. On return it has ended; at once, if the test has failed."""
    command = [sys.executable, "-m", "membership_client", "groups", "waiting", group, "--watch", str(watch_s), "--json"]
    command += ["--bootstrap-server", kafka.bootstrap_servers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as started:
        try:
            yield started
        except BaseException:
            started.kill()
            raise


def typed_on(terminal: int) -> Iterator[str]:
    """Yields what programs write to the terminal, until the last program has closed it (an error on Linux, an end on macOS)."""
    with contextlib.suppress(OSError):
        while content := os.read(terminal, 4096):
            yield content.decode()
    os.close(terminal)
