"""The thread that writes a trace, and its queue: a full pipe or a hanging disk delays this thread only."""

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
    """Counts entries. `admit` and `take_dropped` are for the thread that records, `wrote` for the one that writes; none waits."""

    limit: int
    dropped: int = 0
    """How many entries were dropped since the last admitted one: they are missing before the next one."""
    _admitted: int = 0
    _written: int = 0

    @property
    def waiting(self) -> int:
        return self._admitted - self._written

    def admit(self) -> bool:
        """Count one more entry. False if there is no room for it: then it counts as dropped."""
        if self.waiting >= self.limit:
            self.dropped += 1
            return False
        self._admitted += 1
        return True

    def take_dropped(self) -> int:
        """How many entries are missing before the one that was just admitted; sets the count to 0."""
        dropped, self.dropped = self.dropped, 0
        return dropped

    def wrote(self) -> None:
        self._written += 1


logger = logging.getLogger("membership_client")

_MOST_WAITING = 10_000
"""A member makes about one step a second, so this is some hours of steps, which take about 20 MB."""

_CLOSE_WITHIN_S = 2.0
"""How long a close waits for the trace. The partitions have been released by then, and the process is about to end."""

Encode = Callable[[Any], str]


class QueuedEntry(NamedTuple):
    """An entry to write, and the values of a header before or after it. Without an entry only a header is written."""

    entry: Any
    at: float
    """When it happened, by the member's clock. The header of the file has this time, and not the later one of writing."""
    offset_s: float
    """`at` and this give the time of day."""
    before: Member
    after: Member
    dropped: int


Header = Callable[[Member, float, float, int], str]
"""Makes a header of the member, the time by its clock, the offset to the time of day, and how many steps are missing before."""


class TraceThread:
    """Writes entries to the file on its own thread. `put` is called under the journal's lock, and never waits.

    An entry that cannot be encoded, or finds no room in the queue, is left out. A new header follows, which says how many
    entries are missing, so that a replay can go on from there. Once the thread runs, no other thread uses the file.
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
        """Start the thread, whose first line is the header of `start`. If the system has no thread now, `put` tries again."""
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
        """Wait until the first header and all entries so far are written; False after `within_s`. Not on this thread itself."""
        give_up_at = time.monotonic() + within_s
        while not self._is_written() and time.monotonic() < give_up_at:
            time.sleep(0.001)
        return self._is_written()

    def _is_written(self) -> bool:
        return self._has_begun and not self._backlog.waiting

    def close(self, last: Member, at: float, offset_s: float) -> None:
        """Write the entries in the queue, then end. After two seconds this returns with a warning; the thread goes on."""
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
        """End the thread without waiting for it. The journal may be gone already."""
        self._queue.put(None)

    def forget(self) -> None:
        """In a forked child: leave the file and its lock to the parent."""
        self._file.forget()

    # --- on the thread -----------------------------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            self._thread.start()
        except RuntimeError:
            return  # The system has no thread now. The next entry tries again; until then entries stay in the queue.
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
            # Neither a bug nor a text of the application that cannot be encoded may end the thread.
            logger.exception("A step is missing in the trace %s, because of a bug; please report it", self._file.path)
            self._unwritable = missing + 1
        finally:
            self._has_begun = True
            if waiting.entry is not None:
                self._backlog.wrote()
