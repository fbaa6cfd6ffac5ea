"""The thread that writes a trace, and what waits for it: a full pipe or a hanging disk delays this thread only."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from membership_client.core.member import Member
from membership_client.trace.trace_file import TraceFile

# --- what waits to be written ----------------------------------------------------------------------------------------


@dataclass(slots=True, repr=False, eq=False)
class Backlog:
    """`admit` and `dropped` belong to the thread that records, `written` to the one that writes; neither waits."""

    limit: int
    dropped: int = 0
    """Entries dropped since the last admitted one: they are missing before the next one."""
    _admitted: int = 0
    _written: int = 0

    @property
    def waiting(self) -> int:
        return self._admitted - self._written

    def admit(self) -> bool:
        """Is there room for one entry more? If not, it counts as dropped."""
        if self.waiting >= self.limit:
            self.dropped += 1
            return False
        self._admitted += 1
        return True

    def take_dropped(self) -> int:
        """How many entries are missing before the one that was just admitted; told once."""
        dropped, self.dropped = self.dropped, 0
        return dropped

    def wrote(self) -> None:
        self._written += 1


logger = logging.getLogger("membership_client")

_MOST_WAITING = 10_000
"""A member takes about a step a second, so this is some hours; with what they hold, they take about 20 MB."""

_CLOSE_WITHIN_S = 2.0
"""How long a close waits for the trace: the partitions have been given back by then, and the process wants to end."""

Encode = Callable[[Any], str]


class QueuedEntry(NamedTuple):
    """One entry to write, and what a header before or after it would say; without an entry only a header."""

    entry: Any
    at: float
    """When it happened, by the member's clock: a header that knew a later time would belong to a trace saved afterwards."""
    offset_s: float
    """What to add to that to get the time of day."""
    before: Member
    after: Member
    dropped: int


Header = Callable[[Member, float, float, int], str]
"""Makes a header of a member, its clock, the distance to the time of day, and how many steps are missing before it."""


class TraceThread:
    """`put` is called under the journal's lock, and never waits. Files are touched by the thread alone, once it runs.

    An entry that cannot be encoded, or that found no room, is left out: the lines after it begin with a new header that
    says how many are missing, so that a replay can go on from there.
    """

    def __init__(self, file: TraceFile, header: Header, line: Encode) -> None:
        self._file = file
        self._header = header
        self._line = line
        self._backlog = Backlog(_MOST_WAITING)
        self._queue: queue.SimpleQueue[QueuedEntry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"trace {file.path.name}", daemon=True)
        self._started = False
        self._has_begun = False
        self._unwritable = 0

    def begin(self, start: Member, at: float, offset_s: float) -> None:
        """Start the thread, whose first line is the header of `start`. A thread that cannot start is tried later."""
        self._queue.put(QueuedEntry(None, at, offset_s, start, start, 0))
        self._start()

    def put(self, entry: Any, at: float, offset_s: float, before: Member, after: Member) -> None:
        if not self._backlog.admit():
            if self._backlog.dropped == 1:
                logger.warning(
                    "The trace %s is not written fast enough: steps are left out until it is. "
                    "Look at the disk, or at the reader of the pipe.",
                    self._file.path,
                )
            return
        self._queue.put(QueuedEntry(entry, at, offset_s, before, after, self._backlog.take_dropped()))
        if not self._started:
            self._start()

    def flush(self, within_s: float) -> bool:
        """Has everything been written that was put so far, the first header too? Any thread but the writing one."""
        give_up_at = time.monotonic() + within_s
        while not self._is_written() and time.monotonic() < give_up_at:
            time.sleep(0.001)
        return self._is_written()

    def _is_written(self) -> bool:
        return self._has_begun and not self._backlog.waiting

    def close(self, last: Member, at: float, offset_s: float) -> None:
        """Write what waits, then end. After two seconds this returns and logs a warning; the thread goes on alone."""
        if self._backlog.dropped:
            self._queue.put(QueuedEntry(None, at, offset_s, last, last, self._backlog.take_dropped()))
        self._queue.put(None)
        if not self._started:
            self._start()
        if self._started:
            self._thread.join(_CLOSE_WITHIN_S)
        if not self._started or self._thread.is_alive():
            logger.warning(
                "The trace %s lacks its last %d steps: they could not be written within %g s.",
                self._file.path,
                self._backlog.waiting,
                _CLOSE_WITHIN_S,
            )

    def end(self) -> None:
        """The journal is gone: the thread ends by itself."""
        self._queue.put(None)

    def forget(self) -> None:
        """In a forked child: the file, and the lock on it, are the parent's."""
        self._file.forget()

    # --- on the thread -----------------------------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            self._thread.start()
        except RuntimeError:
            return  # The system has no thread now. The next entry tries again; until then entries wait.
        self._started = True

    def _run(self) -> None:
        while (waiting := self._queue.get()) is not None:
            self._write(waiting)
        self._file.close()

    def _write(self, waiting: QueuedEntry) -> None:
        _, at, offset_s, before, after, dropped = waiting
        missing = dropped + self._unwritable
        try:
            line = None if waiting.entry is None else self._line(waiting.entry)
            if line is None or missing:
                self._file.begin(self._header(before, at, offset_s, missing))
                self._unwritable = 0
            if line is not None and self._file.write(line):
                self._file.begin(self._header(after, at, offset_s, 0))
        except Exception:
            # A bug, or a text of the application that cannot be encoded: neither may end the recorder.
            logger.exception("A step is missing in the trace %s; please report it", self._file.path)
            self._unwritable = missing + 1
        finally:
            self._has_begun = True
            if waiting.entry is not None:
                self._backlog.wrote()
