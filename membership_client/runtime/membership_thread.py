"""The thread of one member: started once, and waited for."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

_END_S = 0.5
"""How long the system may take to end a thread that has said that its work is done."""


class MembershipThread:
    """Does `work` once: on a thread of its own after `start`, or on the thread that calls `run`.

    Any thread may call its methods, and so may signal handlers. There is no lock for that reason: a handler may come
    while the same thread is inside one of them.
    """

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work = work
        self._thread = threading.Thread(target=self.run, name=name, daemon=True)
        self._token = [None]
        self._runs_on: int | None = None
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()

    @property
    def was_started(self) -> bool:
        """Also if it has ended since."""
        return not self._token

    @property
    def is_current(self) -> bool:
        """Is this the thread that does the work?"""
        return threading.get_ident() == self._runs_on

    def may_start(self) -> bool:
        """True once: then the caller starts it, or runs it."""
        try:
            self._token.pop()
        except IndexError:
            return False
        return True

    def start(self) -> None:
        """RuntimeError if the system has no thread to spare; it may have one later, so it may be started again."""
        try:
            self._thread.start()
        except RuntimeError:
            self._token.append(None)
            raise

    def run(self) -> None:
        """Do the work on this thread. Whatever becomes of it, `has_ended` is true afterwards."""
        self._runs_on = threading.get_ident()
        try:
            self._work()
        finally:
            self._runs_on = None
            self._ended.put(None)

    def has_ended(self, within_s: float) -> bool:
        """Waits for the end of the work, and of the thread."""
        try:
            self._ended.get(timeout=within_s)
        except queue.Empty:
            return False
        self._ended.put(None)  # For other threads that wait.
        with contextlib.suppress(RuntimeError):  # It was run, and not started.
            self._thread.join(_END_S)
        return True
