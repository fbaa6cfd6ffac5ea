"""A thread that does one job after another, for coroutines that must not block."""

from __future__ import annotations

import functools
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from membership_client.aio.reply import Reply
from membership_client.errors import ForkedMemberError, MemberClosedError
from membership_client.runtime.forked import BELONGS_TO_PARENT

T = TypeVar("T")

Job = Callable[[], None]
"""What a thread does for a coroutine. It must not raise."""


def nothing() -> None:
    """A job that only wakes the thread."""


class Jobs:
    """A queue of jobs. Any thread may post one; one thread does them."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Job] = queue.SimpleQueue()

    def __bool__(self) -> bool:
        return not self._queue.empty()

    def post(self, job: Job) -> None:
        self._queue.put(job)

    def serve(self, timeout_s: float | None = None) -> None:
        """Do the next job that comes within `timeout_s`."""
        try:
            job = self._queue.get(timeout=timeout_s)
        except queue.Empty:
            return
        job()


def _never() -> bool:
    return False


class Actor:
    """A daemon thread, started with the first job. A posted job is done even if no coroutine waits for it any more.

    `between` runs when no job waits, again and again while it returns True; `at_end` runs after the last job. Both on
    this thread.
    """

    def __init__(
        self, name: str, owner: str = "Member", *, between: Callable[[], bool] = _never, at_end: Job = nothing
    ) -> None:
        self.jobs = Jobs()
        """The jobs that are to be done. A job that waits may serve them meanwhile."""
        self._name = name
        self._owner = owner
        """The object that an error names as closed."""
        self._between = between
        self._at_end = at_end
        self._alone: deque[Job] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._pid = os.getpid()

    async def ask(self, action: Callable[[], T]) -> T:
        """Run `action` on this thread, and return or raise what it does.

        Raises MemberClosedError once the thread has ended, and in a forked child.
        """
        reply: Reply[T] = Reply()
        self.post(functools.partial(reply.carry_out, functools.partial(self.while_open, action)))
        return await reply

    def post(self, job: Job, *, alone: bool = False) -> None:
        """Have the job done after all earlier ones; `alone`: not inside another job that waits. Any thread; never blocks."""
        with self._lock:
            self._check_open()
            self._start()
            if alone:
                self._alone.append(job)
            self.jobs.post(nothing if alone else job)

    def while_open(self, action: Callable[[], T], then: Job = nothing) -> T:
        """Run `action` and then `then`. MemberClosedError if the actor was stopped before the turn of this job."""
        self._check_open()
        value = action()
        then()
        return value

    def stop(self) -> None:
        """Take no more jobs; those that were posted before are done."""
        with self._lock:
            self._ended = True
        self.jobs.post(nothing)

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedMemberError(BELONGS_TO_PARENT)
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
