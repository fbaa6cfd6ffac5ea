"""The demonstration's broker: real Kafka, in a process of its own that ends with the demonstration.

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
"""Kafka's default is 5 s; with it, joining slots would be slow to watch."""

_END_S = 20.0


class BrokerError(RuntimeError):
    """There is no broker; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedBroker:
    """A broker that serves. `java` is the Java that it runs on; Spark uses the same."""

    bootstrap_servers: str
    java: Path
    version: str


@contextlib.contextmanager
def embedded_broker() -> Iterator[EmbeddedBroker]:
    """A broker that serves within the block. BrokerError if Java or Kafka's jars are not on this machine."""
    process = subprocess.Popen(
        # -P keeps the current directory, whose file names are the user's, off the new process's import path.
        [sys.executable, "-P", "-m", "membership_client.testing", "--broker", "kafka", _HEARTBEAT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C must reach the demonstration only, which then ends its broker.
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
        raise BrokerError(f"The broker did not start. {process.stderr.read().strip()}")
    answer = json.loads(line)
    return EmbeddedBroker(answer["bootstrap_servers"], Path(answer["java"]), answer["version"])


def _end(process: subprocess.Popen[str]) -> None:
    """Closes its input: then the process stops its broker and removes its data."""
    try:
        process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
