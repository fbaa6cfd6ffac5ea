"""Real threads that run one at a time, in virtual time: a seed decides before every line of the watched code which one runs.

The watched code is the product's own, unchanged. Its locks, waits and clocks are the scheduler's, so that a run depends on its
seed alone, and threads that wait for each other for ever are found at once.
"""

from __future__ import annotations

import functools
import random
import sys
import threading
from collections.abc import Callable, Collection
from types import FrameType, TracebackType
from typing import Any

Tracer = Callable[[FrameType, Any, Any], Any]

_REAL_S = 60.0
"""A thread that does not come back within this time is stuck outside of the scheduler's reach."""


class ScheduleError(AssertionError):
    """A run that went wrong."""


class _StopError(BaseException):
    """Ends the other threads of a run that went wrong."""


class SimThread:
    def __init__(self, name: str, target: Callable[[], None]) -> None:
        self.name = name
        self.target = target
        self.baton = threading.Semaphore(0)
        self.waits_for: Callable[[], bool] | None = None
        self.deadline = float("inf")
        self.at_line: Callable[[FrameType], None] | None = None
        """Called before every watched line of this thread, as a signal handler may be."""
        self.ended = False


class Scheduler:
    def __init__(self, seed: int, watched: Collection[str], switches: float = 0.1) -> None:
        self.random = random.Random(seed)
        self.now = 1000.0
        self.steps = 0
        self._watched = frozenset(watched)
        self._switches = switches
        self._threads: list[SimThread] = []
        self._current: SimThread | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()

    def clock(self) -> float:
        return self.now

    @property
    def running(self) -> str:
        """The name of the thread that runs now."""
        return "" if self._current is None else self._current.name

    def tick(self) -> int:
        """A number for an event: later events have larger ones."""
        self.steps += 1
        return self.steps

    def spawn(self, name: str, target: Callable[[], None]) -> SimThread:
        thread = SimThread(name, target)
        self._threads.append(thread)
        threading.Thread(target=self._body, args=(thread,), name=name, daemon=True).start()
        return thread

    def run(self) -> None:
        """Until all threads have ended. Raises what one of them raised."""
        self._hand_over(self._next())
        if not self._done.wait(_REAL_S):
            raise ScheduleError(f"{self._current and self._current.name} is stuck")
        if self._error is not None:
            raise self._error

    def switch(self) -> None:
        """Let another thread go on, perhaps."""
        me = self._current
        assert me is not None
        self._hand_over(self._next())
        self._await_turn(me)

    def wait(self, until: Callable[[], bool], seconds: float | None = None) -> bool:
        """Block the calling thread until that holds, or that long."""
        me = self._current
        assert me is not None
        me.waits_for = until
        me.deadline = float("inf") if seconds is None else self.now + seconds
        self.switch()
        me.waits_for, me.deadline = None, float("inf")
        return until()

    def sleep(self, seconds: float) -> None:
        self.wait(lambda: False, seconds)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _body(self, thread: SimThread) -> None:
        try:
            self._await_turn(thread)
            sys.settrace(functools.partial(self._trace, sys.gettrace()))
            thread.target()
        except _StopError:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever it is, the run failed with it
            self._error = self._error or error
        finally:
            sys.settrace(None)
            thread.ended = True
            self._end_of(thread)

    def _end_of(self, thread: SimThread) -> None:
        try:
            following = None if self._error else self._next()
        except ScheduleError as error:
            self._error, following = error, None
        if following is None:
            self._done.set()
            for other in self._threads:
                other.baton.release()
        else:
            self._hand_over(following)

    def _next(self) -> SimThread | None:
        alive = [thread for thread in self._threads if not thread.ended]
        if not alive:
            return None
        ready = [thread for thread in alive if self._is_ready(thread)]
        if not ready:
            self.now = min(thread.deadline for thread in alive)
            if self.now == float("inf"):
                raise ScheduleError(f"waiting for ever: {', '.join(thread.name for thread in alive)}")
            ready = [thread for thread in alive if self._is_ready(thread)]
        return self.random.choice(ready)

    def _is_ready(self, thread: SimThread) -> bool:
        return thread.waits_for is None or thread.deadline <= self.now or thread.waits_for()

    def _hand_over(self, thread: SimThread | None) -> None:
        self._current = thread
        if thread is not None:
            thread.baton.release()

    def _await_turn(self, thread: SimThread) -> None:
        thread.baton.acquire()
        if self._error is not None:
            raise _StopError

    def _trace(self, other: Tracer | None, frame: FrameType, event: str, argument: object) -> Tracer | None:
        """Beside `other`, which measures what this thread runs; else mutants of the watched code would have no judge."""
        local = other(frame, event, argument) if other is not None else None
        if frame.f_code.co_filename not in self._watched:
            return local
        return self._at_line if local is None else functools.partial(self._at_line_beside, local)

    def _at_line_beside(self, other: Tracer, frame: FrameType, event: str, argument: object) -> Tracer:
        other(frame, event, argument)
        self._at_line(frame, event, argument)
        return functools.partial(self._at_line_beside, other)

    def _at_line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and self._current is not None:
            if self._current.at_line is not None:
                self._current.at_line(frame)
            if self.random.random() < self._switches:
                self.switch()
        return self._at_line


class SimLock:
    """A lock that its holder may take again, with a condition."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._owner: int | None = None
        self._depth = 0
        self._notified = 0

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.release()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = threading.get_ident()
        if self._owner != me:
            if not blocking and self._owner is not None:
                return False
            self._scheduler.wait(lambda: self._owner is None)
            self._owner = me
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None

    def wait(self, timeout: float | None = None) -> bool:
        me, depth, before = self._owner, self._depth, self._notified
        self._owner, self._depth = None, 0
        told = self._scheduler.wait(lambda: self._notified != before, timeout)
        self._scheduler.wait(lambda: self._owner is None)
        self._owner, self._depth = me, depth
        return told

    def notify_all(self) -> None:
        self._notified += 1
