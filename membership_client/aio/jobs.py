"""Things to do on a thread that may be waiting for something else."""

from __future__ import annotations

import queue
from collections.abc import Callable

Job = Callable[[], None]
"""It must not raise."""


def nothing() -> None:
    """Wakes whoever waits for a job."""


class Jobs:
    """Posted by any thread, done by one."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Job] = queue.SimpleQueue()

    def __bool__(self) -> bool:
        return not self._queue.empty()

    def post(self, job: Job) -> None:
        self._queue.put(job)

    def serve(self, timeout_s: float | None = None) -> None:
        """Do the next one that comes within that time."""
        try:
            job = self._queue.get(timeout=timeout_s)
        except queue.Empty:
            return
        job()
