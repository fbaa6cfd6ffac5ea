"""Waiting in tests, with generous limits that only a failure ever reaches, and counting what must not be left behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.core.events import Answered, Failed
    from membership_client.net import BrokerTransport

LIMIT_S = 60.0


def outcomes(transport: BrokerTransport, count: int = 1) -> list[Answered | Failed]:
    """Wait until that many requests have completed, and return what they came to."""
    deadline = time.monotonic() + LIMIT_S
    completed: list[Answered | Failed] = []
    while len(completed) < count:
        left = deadline - time.monotonic()
        assert left > 0, f"only {completed} within {LIMIT_S} s"
        completed += transport.wait(left)
    assert len(completed) == count
    return completed


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT_S} s"
        time.sleep(0.01)


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))
