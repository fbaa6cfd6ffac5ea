"""The locks of a Consumer: that of the bridge, with a condition, and that of librdkafka; and which threads are inside."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from threading import get_ident
from types import TracebackType
from typing import Any, Protocol


class Lock(Protocol):
    """A lock that its holder may take again: a signal handler does."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> Any: ...


class Condition(Lock, Protocol):
    def wait(self, timeout: float | None = None) -> bool: ...
    def notify_all(self) -> None: ...


class Inside:
    """Which threads are inside of the Consumer's code that others may wait for.

    A signal handler interrupts a thread at any point. If that thread is inside, the handler must not wait for other threads,
    because they may wait for a lock that its own thread holds.
    """

    def __init__(self) -> None:
        self._threads: list[int] = []
        self.enter = self._threads.append
        self.leave = self._threads.remove

    def __contains__(self, thread: int) -> bool:
        return thread in self._threads

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        thread = get_ident()
        self.enter(thread)
        try:
            yield
        finally:
            self.leave(thread)


class Monitor:
    """The lock of the bridge, and its condition."""

    def __init__(self, inside: Inside, condition: Condition | None = None) -> None:
        self._inside = inside
        self._condition: Condition = condition or threading.Condition(threading.RLock())
        self.wait = self._condition.wait
        self.notify_all = self._condition.notify_all

    def __enter__(self) -> None:
        self._inside.enter(get_ident())
        self._condition.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._condition.__exit__(kind, error, trace)
        self._inside.leave(get_ident())


_GIVE_WAY_S = 1.0
"""Longest time for which a reading thread lets other callers go first."""

_STEP_S = 0.0005


class LibrdkafkaLock:
    """Lets one thread call librdkafka at a time, and lets other callers go before a thread that reads in a loop.

    confluent-kafka has such a lock of its own since 2.16, which a polling thread takes again before those that wait get it:
    they were seen waiting for seconds.
    """

    def __init__(self, inside: Inside, lock: Lock | None = None, sleep: Callable[[float], None] = time.sleep) -> None:
        self.lock: Lock = lock or threading.RLock()
        self.callers: deque[None] = deque()
        """One entry for each thread that waits for the lock, but those that read."""
        self._inside = inside
        self._sleep = sleep

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """Take the lock for any call except reading."""
        waiting = True
        self.callers.append(None)
        try:
            with self._inside(), self.lock:
                self.callers.pop()
                waiting = False
                yield
        finally:
            if waiting:
                self.callers.pop()

    @contextlib.contextmanager
    def calling_within(self, timeout_s: float) -> Iterator[bool]:
        """Like `calling`, but with a time limit: False, without the lock, when the time is over. Not for the main thread.

        There an exception of a signal handler could come between the lock and the block that releases it.
        """
        self.callers.append(None)
        try:
            got = self.lock.acquire(timeout=timeout_s)
        finally:
            self.callers.pop()
        if not got:
            yield False
            return
        try:
            with self._inside():
                yield True
        finally:
            self.lock.release()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Take the lock for a thread that reads again and again."""
        self.let_others_first()
        with self._inside(), self.lock:
            yield

    @contextlib.contextmanager
    def reading_if_free(self) -> Iterator[bool]:
        """Take the lock for a read that must not wait: False, without the lock, if another thread has it."""
        taken: list[bool] = []
        try:
            if not self.callers:
                # In C code, so that no exception of a signal handler comes between taking the lock and noting it.
                taken.extend(map(self.lock.acquire, (False,)))
            yield any(taken)
        finally:
            if any(taken):
                self.lock.release()

    def let_others_first(self) -> None:
        """Let the callers that wait now go first."""
        for _ in range(int(_GIVE_WAY_S / _STEP_S)):
            if not self.callers:
                return
            self._sleep(_STEP_S)
