"""The demonstration's broker: real Kafka, in a process of its own that ends with us.

An embedded broker would need neither Java nor jars; Spark needs Java anyway, and shows more on the real one.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HEARTBEAT = "group.consumer.heartbeat.interval.ms=1000"
"""Kafka's default is 5 s, for which nobody wants to wait when slots join."""

_END_S = 20.0


class BrokerError(RuntimeError):
    """There is no broker; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedBroker:
    """`java` is what it runs with, so Spark can too."""

    bootstrap_servers: str
    java: Path
    version: str


@contextlib.contextmanager
def embedded_broker() -> Iterator[EmbeddedBroker]:
    """Serves within the block. BrokerError if Java or Kafka's jars are not on this machine."""
    process = subprocess.Popen(
        # -P keeps the current directory, whose file names are the user's, off the new process's import path.
        [sys.executable, "-P", "-m", "membership_client.testing", "--broker", "kafka", _HEARTBEAT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C is for the demonstration, which then ends its broker itself.
        start_new_session=True,
    )
    try:
        yield _await_answer(process)
    finally:
        _end(process)


def _await_answer(process: subprocess.Popen[str]) -> EmbeddedBroker:
    assert process.stdout is not None
    assert process.stderr is not None
    if not (line := process.stdout.readline()):
        raise BrokerError(f"There is no broker to read from. {process.stderr.read().strip()}")
    answer = json.loads(line)
    return EmbeddedBroker(answer["bootstrap_servers"], Path(answer["java"]), answer["version"])


def _end(process: subprocess.Popen[str]) -> None:
    """The end of its input makes it stop its broker and remove its data."""
    try:
        process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
