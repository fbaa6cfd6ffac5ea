"""Replaces Python's threads, locks and clocks by virtual ones for the tasks of a run. Other threads are not affected.

Python builds conditions, events, semaphores, queues and executors from locks, so these are virtual as well.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from membership_client.errors import ConfigError
from membership_client.testing.kit.scheduler import Killed, Scheduler, Task
from membership_client.testing.kit.virtual_loop import VirtualLoop

EPOCH = 1_700_000_000.0
"""The value of `time.time()` when a run begins."""

_NO_TIMEOUT = -1


class VirtualLock:
    """`threading.Lock` for tasks. A free lock is taken without giving the turn back."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._locked = False

    def acquire(self, blocking: bool = True, timeout: float = _NO_TIMEOUT) -> bool:
        if self._locked and blocking and self._scheduler.current() is not None:
            self._scheduler.wait(lambda: not self._locked, None if timeout == _NO_TIMEOUT else timeout)
        if self._locked:
            return False
        self._locked = True
        return True

    def release(self) -> None:
        if not self._locked:
            raise RuntimeError("release unlocked lock")
        self._locked = False

    def locked(self) -> bool:
        return self._locked

    def _at_fork_reinit(self) -> None:
        """Does nothing. Modules of Python call it when a program imports them in a run."""
        self._locked = False

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class VirtualRLock:
    """`threading.RLock` for tasks, with the three methods that `threading.Condition` needs."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._lock = VirtualLock(scheduler)
        self._owner: int | None = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = _NO_TIMEOUT) -> bool:
        if not self._is_owned():
            if not self._lock.acquire(blocking, timeout):
                return False
            self._owner = _thread.get_ident()
        self._count += 1
        return True

    def release(self) -> None:
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if self._count == 0:
            self._owner = None
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_owned(self) -> bool:
        return self._owner == _thread.get_ident()

    def _release_save(self) -> int:
        count, self._count, self._owner = self._count, 0, None
        self._lock.release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self._lock.acquire()
        self._count, self._owner = count, _thread.get_ident()


class _Threads:
    """The functions that replace those of `threading` and `time` during a run."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._tasks: dict[threading.Thread, Task] = {}
        self._real: dict[str, Any] = {name: getattr(threading.Thread, name) for name in ("start", "join", "is_alive")}
        self._outside = threading.local()

    def _task(self) -> Task | None:
        """The calling task; None for other threads, and while a thread is being started."""
        return None if getattr(self._outside, "is_set", False) else self._scheduler.current()

    def choose(self, virtual: Callable[[Scheduler], object], real: Callable[[], object]) -> Callable[[], object]:
        return lambda: virtual(self._scheduler) if self._task() else real()

    def choose_clock(self, real: Callable[[], float], offset: float = 0.0) -> Callable[[], float]:
        return lambda: self._scheduler.now + offset if self._task() else real()

    def sleep(self, real: Callable[[float], None]) -> Callable[[float], None]:
        return lambda seconds: self._scheduler.wait(timeout_s=seconds) if self._task() else real(seconds)

    @staticmethod
    def as_method(function: Callable[..., Any]) -> Callable[..., Any]:
        """A plain function in the place of a bound method, so that it gets the object on which it is called."""

        def method(*arguments: Any, **named: Any) -> Any:
            return function(*arguments, **named)

        return method

    def start(self, thread: threading.Thread) -> None:
        parent = self._task()
        if parent is None:
            self._real["start"](thread)
            return
        task, run = self._scheduler.add(Task(f"{parent.name}/{thread.name}", parent.owner)), thread.run
        self._tasks[thread] = task
        thread.run = lambda: self._scheduler.run_task(task, run)  # type: ignore[method-assign]
        self._outside.is_set = True
        try:
            # The thread's own event has virtual locks, and the new thread is no task yet when it sets the event.
            thread._started = threading.Event()  # type: ignore[attr-defined]
            self._real["start"](thread)
        finally:
            self._outside.is_set = False

    def join(self, thread: threading.Thread, timeout: float | None = None) -> None:
        task = self._tasks.get(thread)
        if task is None or self._task() is None:
            self._real["join"](thread, timeout)
        elif not task.done:
            self._scheduler.wait(lambda: task.done, timeout)

    def is_alive(self, thread: threading.Thread) -> bool:
        task = self._tasks.get(thread)
        return bool(self._real["is_alive"](thread)) if task is None else not task.done


_one_run = threading.Lock()
"""Held by a run, because it replaces functions of the whole process."""
_running: Scheduler | None = None
_running_on: int | None = None
"""The thread that holds the lock."""


@contextlib.contextmanager
def virtual_threads(scheduler: Scheduler) -> Iterator[None]:
    """In its `with` block, threads, locks, sleeps, event loops, clocks and `random` are virtual for tasks of this scheduler.

    Waits until runs of other threads have ended. Raises ConfigError in a program that is part of a run, and in another run of
    the same thread.
    """
    global _running, _running_on  # noqa: PLW0603 - with the lock held
    running = _running
    if running is not None and running.current() is not None:
        raise ConfigError("explore() and play() cannot be called by a program that they play.")
    if running is not None and _running_on == _thread.get_ident():
        raise ConfigError(
            "There is one virtual time per process: use a virtual group, explore() and play() one after the other."
        )
    with _one_run:
        _running, _running_on = scheduler, _thread.get_ident()
        try:
            with _replaced(scheduler):
                yield
        finally:
            _running = _running_on = None


@contextlib.contextmanager
def _replaced(scheduler: Scheduler) -> Iterator[None]:
    threads = _Threads(scheduler)
    real_lock = _thread.allocate_lock
    lock = threads.choose(VirtualLock, real_lock)
    monotonic = threads.choose_clock(time.monotonic)
    replaced: list[tuple[object, str, object]] = [
        (threading, "Lock", lock),
        (threading, "_allocate_lock", lock),
        (threading, "RLock", threads.choose(VirtualRLock, threading.RLock)),
        (threading, "_time", monotonic),
        (threading.Thread, "start", threads.as_method(threads.start)),
        (threading.Thread, "join", threads.as_method(threads.join)),
        (threading.Thread, "is_alive", threads.as_method(threads.is_alive)),
        (queue, "SimpleQueue", threads.choose(lambda _: queue._PySimpleQueue(), queue.SimpleQueue)),  # type: ignore[attr-defined]
        (queue, "time", monotonic),
        (asyncio.events, "new_event_loop", threads.choose(VirtualLoop, asyncio.events.new_event_loop)),
        (time, "sleep", threads.sleep(time.sleep)),
        (time, "monotonic", monotonic),
        (time, "perf_counter", threads.choose_clock(time.perf_counter)),
        (time, "time", threads.choose_clock(time.time, EPOCH)),
    ]
    with contextlib.ExitStack() as stack:
        for name in ("concurrent.futures", "membership_client"):
            logging.getLogger(name).addFilter(_is_no_kill)
            stack.callback(logging.getLogger(name).removeFilter, _is_no_kill)
        stack.callback(random.setstate, random.getstate())
        random.seed(scheduler.seed)
        for where, name, what in replaced:
            stack.enter_context(mock.patch.object(where, name, what))
        yield


def _is_no_kill(record: logging.LogRecord) -> bool:
    """False for log records about `Killed`: executors and members log the exception that ends their threads."""
    return not (record.exc_info and record.exc_info[0] is Killed)
