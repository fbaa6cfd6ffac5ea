"""The thread of one member, and close(), which asks the member to leave, waits for the thread and reports how that ended."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable

from membership_client.arguments import checked_timeout_s
from membership_client.core import reasons
from membership_client.core.events import Close
from membership_client.runtime.listener import CallbackRunner
from membership_client.runtime.worker import Worker
from membership_client.types import CloseReport, CloseStep, LeaveMode

_END_S = 0.5
"""How long the system may take to end a thread whose work is done."""


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
        """Was the work started? Also true after it has ended."""
        return not self._token

    @property
    def is_current(self) -> bool:
        """Is this the thread that does the work?"""
        return threading.get_ident() == self._runs_on

    def may_start(self) -> bool:
        """True for the first caller only, which must then call `start` or `run`."""
        try:
            self._token.pop()
        except IndexError:
            return False
        return True

    def start(self) -> None:
        """Start the thread. RuntimeError if the system can start none; the caller may try again later."""
        try:
            self._thread.start()
        except RuntimeError:
            self._token.append(None)
            raise

    def run(self) -> None:
        """Do the work on this thread. `has_ended` is true afterwards, even if the work raised."""
        self._runs_on = threading.get_ident()
        try:
            self._work()
        finally:
            self._runs_on = None
            self._ended.put(None)

    def has_ended(self, within_s: float) -> bool:
        """Wait for the end of the work and of the thread; False if that takes longer."""
        try:
            self._ended.get(timeout=within_s)
        except queue.Empty:
            return False
        self._ended.put(None)  # For other threads that wait.
        with contextlib.suppress(RuntimeError):  # The work was done by `run`, so the thread was never started.
            self._thread.join(_END_S)
        return True


# --- close() ---------------------------------------------------------------------------------------------------------


_CLOSE_S = 10.0
"""How long a close() without a timeout waits, in addition to the time for its callbacks."""

_GRACE_S = 0.5
"""How much longer close() waits for the thread to stop than the thread itself may take."""


def close_timeout_s(given: object) -> float | None:
    """The timeout of a close; NaN counts as none given, because a close that raises would leave the member in the group."""
    if given is None:
        return None
    return 0.0 if isinstance(given, float) and math.isnan(given) else checked_timeout_s(given)


class Closing:
    """The close of one member. Methods may be called from any thread, also from a signal handler during a close() of that thread.

    `asked` records for the telemetry what the application asks for, and returns it.
    """

    def __init__(
        self,
        worker: Worker,
        thread: MembershipThread,
        runner: CallbackRunner,
        asked: Callable[[Close], Close],
        poll_interval_s: float,
    ) -> None:
        self._worker = worker
        self._thread = thread
        self._runner = runner
        self._asked = asked
        self._poll_interval_s = poll_interval_s
        self._report: CloseReport | None = None
        """The report of the first close that has ended."""

    def close(self, leave: LeaveMode, reason: str | None, timeout_s: float | None) -> CloseReport:
        """Like `GroupMember.close`; the arguments are checked already."""
        if self._report is not None:
            return self._report
        began_at = time.monotonic()
        self.begin(leave, reason, timeout_s)
        if self._thread.may_start():
            self._thread.run()
        elif not self._is_own_thread():
            self._runner.await_end(self._thread.has_ended, self._patience_s(timeout_s))
        return self._reported(reason, time.monotonic() - began_at)

    def begin(self, leave: LeaveMode, reason: str | None, timeout_s: float | None) -> None:
        """Ask the membership thread to close the member. Returns at once."""
        # If the closing thread runs the callbacks, it cannot return before they do, so the membership may last as long.
        granted = timeout_s is None or self._runner.runs_on_closing_thread
        close = Close(
            mode=leave,
            reason=reason,
            timeout_s=_CLOSE_S if timeout_s is None else timeout_s,
            callback_timeout_s=self._poll_interval_s if granted else None,
        )
        if not self._worker.stopped:
            self._worker.post(self._asked(close))

    def _patience_s(self, timeout_s: float | None) -> float:
        """How long to wait for the membership thread, which usually ends by itself."""
        if timeout_s is not None:
            return timeout_s + _GRACE_S
        # An assigned callback may still run, and then the one that takes its partitions away.
        return _CLOSE_S + 2 * self._poll_interval_s + _GRACE_S

    def _is_own_thread(self) -> bool:
        """Is this the membership thread, or one that runs a callback? Neither can wait for itself."""
        return self._thread.is_current or self._runner.is_current_thread()

    def _reported(self, reason: str | None, took_s: float) -> CloseReport:
        closed = self._worker.member.closed
        if closed is not None:
            self._report = CloseReport(clean=closed.clean, reason=closed.reason, steps=closed.steps)
            return self._report
        step = CloseStep("membership thread", took_s, "goes on by itself" if self._is_own_thread() else "has not ended")
        return CloseReport(clean=False, reason=reason or reasons.CLOSED, steps=(step,))
