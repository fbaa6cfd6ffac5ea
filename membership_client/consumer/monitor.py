"""What threads of a Consumer wait for each other with: one lock with a condition, and the right to call librdkafka."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol


class Lock(Protocol):
    """A lock that its holder may take again: a signal handler does."""

    def __enter__(self) -> Any: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> Any: ...


class Monitor(Lock, Protocol):
    """With a condition."""

    def wait(self, timeout: float | None = None) -> bool: ...
    def notify_all(self) -> None: ...


def new_monitor() -> Monitor:
    return threading.Condition(threading.RLock())


_GIVE_WAY_S = 1.0
"""So long at most a reading thread lets others go first."""

_STEP_S = 0.0005


class LibrdkafkaLock:
    """Lets one thread call librdkafka at a time, and a thread that reads in a loop gives way to the others.

    confluent-kafka has such a lock of its own since 2.16, which a polling thread takes again before those that wait get it:
    they were seen waiting for seconds.
    """

    def __init__(self, lock: Lock | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self.lock = lock or threading.RLock()
        self.callers: deque[None] = deque()
        """One entry for each thread that waits for the lock, but those that read."""
        self._sleep = sleep

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """For every call but reading."""
        waiting = True
        self.callers.append(None)
        try:
            with self.lock:
                self.callers.pop()
                waiting = False
                yield
        finally:
            if waiting:
                self.callers.pop()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """For a thread that reads again and again."""
        self.give_way()
        with self.lock:
            yield

    def give_way(self) -> None:
        """Let those go first that wait now."""
        for _ in range(int(_GIVE_WAY_S / _STEP_S)):
            if not self.callers:
                return
            self._sleep(_STEP_S)
