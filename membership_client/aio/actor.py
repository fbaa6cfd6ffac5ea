"""A thread that does one job after another, for coroutines that must not block."""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from membership_client.aio.jobs import Job, Jobs, nothing
from membership_client.aio.reply import Reply
from membership_client.errors import ForkedMemberError, MemberClosedError

T = TypeVar("T")


def _never() -> bool:
    return False


class Actor:
    """A daemon thread, started with the first job. What was posted is done, whether or not its poster still waits.

    `between` runs when no job waits, again and again while it returns True; `at_end` runs after the last job. Both on
    this thread.
    """

    def __init__(
        self, name: str, owner: str = "Member", *, between: Callable[[], bool] = _never, at_end: Job = nothing
    ) -> None:
        self.jobs = Jobs()
        """A job that waits may serve the others meanwhile."""
        self._name = name
        self._owner = owner
        """What a call after the end is told to be closed."""
        self._between = between
        self._at_end = at_end
        self._alone: deque[Job] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._pid = os.getpid()

    async def ask(self, action: Callable[[], T]) -> T:
        """What it returns or raises on this thread. MemberClosedError once the thread has ended, or in a forked child."""
        reply: Reply[T] = Reply()
        self.post(functools.partial(reply.carry_out, functools.partial(self.while_open, action)))
        return await reply

    def post(self, job: Job, *, alone: bool = False) -> None:
        """Have it done in its turn, or `alone`: outside of any other. Any thread; never blocks."""
        with self._lock:
            self._check_open()
            self._start()
            if alone:
                self._alone.append(job)
            self.jobs.post(nothing if alone else job)

    def while_open(self, action: Callable[[], T], then: Job = nothing) -> T:
        """For jobs that must not be done any more when their turn comes after the end."""
        self._check_open()
        value = action()
        then()
        return value

    def stop(self) -> None:
        """No more jobs; those that were posted before are done."""
        with self._lock:
            self._ended = True
        self.jobs.post(nothing)

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedMemberError("It belongs to the parent process.")
        if self._ended:
            raise MemberClosedError(f"{self._owner} closed.")

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            thread.start()
            self._thread = thread

    # --- on its own thread -------------------------------------------------------------------------------------------

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def _work(self) -> None:
        again = False
        while not self._ended:
            if self._alone:
                self._alone.popleft()()
            elif again and not self.jobs:
                again = self._between()
            else:
                self.jobs.serve()
                again = True
        self._finish()

    def _finish(self) -> None:
        while self._alone:
            self._alone.popleft()()
        while self.jobs:
            self.jobs.serve()
        self._at_end()
