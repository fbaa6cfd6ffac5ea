"""Asks as a kubelet does: one request, and its status, or None if there was no answer in time."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from membership_client.testing import EmbeddedKafka

FAST = {
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.session.timeout.ms": 10_000,
}


def config(kafka: EmbeddedKafka, **more: object) -> dict[str, Any]:
    named = {key.replace("_", "."): value for key, value in more.items()}
    return {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "shop", **named}


def asked(port: int, path: str, timeout_s: float = 5.0) -> tuple[int, str] | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def status(port: int, path: str, timeout_s: float = 5.0) -> int | None:
    answer = asked(port, path, timeout_s)
    return None if answer is None else answer[0]


def verbose(port: int, path: str = "/livez") -> dict[str, Any]:
    answer = asked(port, f"{path}?verbose")
    assert answer is not None
    told: dict[str, Any] = json.loads(answer[1])
    return told


@contextlib.contextmanager
def probed(*ports: int, every_s: float = 0.02) -> Iterator[Counter[tuple[str, int | None]]]:
    """In its `with` block, all ports are asked again and again, and the answers are counted by path and status."""
    counts: Counter[tuple[str, int | None]] = Counter()
    stopped = threading.Event()

    def ask() -> None:
        while not stopped.wait(every_s):
            for port in ports:
                for path in ("/livez", "/readyz"):
                    counts[path, status(port, path)] += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield counts
    finally:
        stopped.set()
        thread.join()
