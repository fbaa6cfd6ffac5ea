"""The recorder of one member: always on, bounded and cheap."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import socket
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from membership_client.arguments import checked_path, checked_timeout_s
from membership_client.core.events import CallbackReturned, ClassicHeartbeat, Effect, Event, Heartbeat, Send
from membership_client.core.exception_summary import raised_by
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.errors import MembershipError
from membership_client.partitions import Partitions, ranges
from membership_client.trace.trace_file import TraceFile, as_bytes, write_for_owner
from membership_client.trace.values import Json, encode
from membership_client.types import MemberState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from membership_client.trace.trace_thread import TraceThread


_KEEP = 100
"""Entries per part. Two parts are kept, so at least the last hundred entries are always there."""

_LATE_S = 0.01

_JUMP_S = 1.0
"""NTP sets clocks by small amounts; a jump of a second means that the machine slept, or that its clock was set by hand."""


class _OwnedText(NamedTuple):
    """The partitions that a member owns. The thread that writes the file, or a reader, makes the text of them."""

    partitions: Partitions
    names: Mapping[UUID, str]

    def shown(self) -> Json:
        shares = self.partitions.by_topic.items()
        return {self.names.get(topic, str(topic)): ranges(numbers) for topic, numbers in shares}


class RecordedStep(NamedTuple):
    """A step without the members before and after it, which are large."""

    at: float
    state: MemberState
    epoch: int
    event: Event
    effects: tuple[Effect, ...]
    owned: _OwnedText | None
    """None if the step did not change the owned partitions."""
    changes: dict[str, Json]
    late_s: float
    """How much later than due a heartbeat was sent."""
    cpu_s: float
    """CPU time of the process so far: it does not grow while the process is stopped."""
    jumped_s: float
    """By how much the time of day moved against the monotonic clock, which stands still while the machine sleeps."""


Entry = RecordedStep | dict[str, Json]


class _JournalPart:
    """A part of a journal: the member at its beginning and the entries since then, which is enough to replay them."""

    def __init__(self, start: Member) -> None:
        self.start = start
        self.entries: list[Entry] = []


class Journal:
    """Keeps the last entries of one member in memory. `on_step` runs on the membership thread; `note` on any thread.

    With a `file` a thread of its own also writes every entry there, without delay.
    """

    def __init__(self, start: Member, file: TraceFile | None = None) -> None:
        self._lock = threading.Lock()
        self._member = start
        self._origin = origin()
        now = time.monotonic()
        self._wall_offset_s = self._offset_s = time.time() - now
        self._stepped_at, self._switches = now, switches()
        self._older = _JournalPart(start)
        self._newer = _JournalPart(start)
        self._writer: TraceThread | None = None
        if file is not None:
            from membership_client.trace.trace_thread import TraceThread  # noqa: PLC0415 - only traces with a file need it

            self._writer = TraceThread(file, functools.partial(_header, self._origin), _text)
            self._writer.begin(start, now, self._offset_s)
            # The thread also ends if the application drops the member without a close.
            weakref.finalize(self, self._writer.end).atexit = False

    def on_step(self, step: Step) -> None:
        self._note_switches()
        after = step.after
        owned = None if after.owned is step.before.owned else _OwnedText(after.owned, after.names)
        changes = dict(_changes(step.before, after))
        times = (_lateness_s(step), time.process_time(), self._jumped_s())
        entry = RecordedStep(step.at, after.state, after.epoch, step.event, step.effects, owned, changes, *times)
        with self._lock:
            self._keep(entry)
            self._member = after
            if self._writer is not None:
                self._writer.put(entry, step.at, self._wall_offset_s, step.before, after)

    def _note_switches(self) -> None:
        """Note if this thread had to wait for the interpreter's lock since the last step.

        A thread that waits for the lock wakes every 5 ms. A thread that is stopped, or gets no processor, does not wake.
        """
        now, count = time.monotonic(), switches()
        waited_s, woken = now - self._stepped_at, count - self._switches
        self._stepped_at, self._switches = now, count
        if waited_s >= _HELD_S and woken >= waited_s * _WAKES_PER_S:
            self.note("interpreter held", seconds=waited_s, switches=woken)

    def _jumped_s(self) -> float:
        """How far the clock jumped since the last call. A small difference is kept for the next call."""
        self._wall_offset_s = time.time() - time.monotonic()
        jumped_s = self._wall_offset_s - self._offset_s
        if abs(jumped_s) < _JUMP_S:
            return 0.0
        self._offset_s += jumped_s
        return jumped_s

    def note(self, kind: str, **facts: Json) -> None:
        """Record something that is no step: a commit, a warning. Facts must be plain JSON, without the content of records."""
        now = time.monotonic()
        entry = {"at": now, "note": kind, **facts}
        with self._lock:
            self._keep(entry)
            if self._writer is not None:
                self._writer.put(entry, now, self._wall_offset_s, self._member, self._member)

    def _keep(self, entry: Entry) -> None:
        if len(self._newer.entries) >= _KEEP:
            self._older, self._newer = self._newer, _JournalPart(self._member)
        self._newer.entries.append(entry)

    def lines(self) -> list[str]:
        """The lines of a trace of what is in memory. Any thread may call it."""
        with self._lock:
            start, entries = self._older.start, [*self._older.entries, *self._newer.entries]
        now = time.monotonic()
        return [_header(self._origin, start, now, time.time() - now, 0), *map(_text, entries)]

    def save(self, path: Path | str) -> None:
        """Write what is in memory, as a trace that the command line reads. Only its owner may read a new file.

        OSError if the file cannot be written, is a symbolic link, or belongs to another user. Any thread may call it.
        """
        write_for_owner(checked_path("path", path), as_bytes("\n".join(self.lines()) + "\n"))

    def flush(self, within_s: float = 10.0) -> bool:
        """Wait until the file has all entries so far; False if it lacks some after `within_s`. Not for the membership thread."""
        within_s = checked_timeout_s(within_s, "within_s")
        return self._writer is None or self._writer.flush(within_s)

    def close(self) -> None:
        """End the recording. Waits up to two seconds for entries to be written; the log warns of those that were not."""
        if self._writer is not None:
            self._writer.close(self._member, time.monotonic(), self._wall_offset_s)

    def after_fork(self) -> None:
        """In a forked child: stop writing, because the file and the thread that writes it belong to the parent."""
        self._lock = threading.Lock()
        if self._writer is not None:
            self._writer.forget()
            self._writer = None


def _header(origin: dict[str, str | int], start: Member, at: float, offset_s: float, dropped: int) -> str:
    """The line that a trace begins with, or that stands where steps are missing."""
    from membership_client.trace.format import VERSION  # noqa: PLC0415 - loaded with the first header

    who = {"group": start.config.group_id, "member": start.member_id, "instance": start.config.group_instance_id}
    when = {"wall": at + offset_s, "at": at} | ({"dropped": dropped} if dropped else {})
    return _encoder()({"trace": VERSION, **who, **origin, **when, "start": encode(start)})


@functools.cache
def _encoder() -> Callable[[object], str]:
    import json  # noqa: PLC0415 - loaded with the first line

    # NaN would make the whole file unreadable: a line with a NaN is left out, and counted as dropped.
    return json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False, allow_nan=False).encode


def _text(entry: Entry) -> str:
    return _encoder()(_shown(entry))


def _shown(entry: Entry) -> dict[str, Json]:
    if not isinstance(entry, RecordedStep):
        return entry
    shown: dict[str, Json] = {
        "at": entry.at,
        "state": encode(entry.state),
        "epoch": entry.epoch,
        "event": encode(_safe(entry.event)),
    }
    if entry.effects:
        shown["effects"] = [encode(effect) for effect in entry.effects]
    if entry.owned is not None:
        shown["owned"] = entry.owned.shown()
    shown.update(entry.changes)
    if entry.late_s > _LATE_S:
        shown["late"] = round(entry.late_s, 6)
    if entry.jumped_s:
        shown["jumped"] = round(entry.jumped_s, 6)
    shown["cpu"] = round(entry.cpu_s, 6)
    return shown


def _changes(before: Member, after: Member) -> Iterator[tuple[str, Json]]:
    if after.cause is not before.cause and after.cause is not None:
        yield "cause", str(after.cause)
    if after.topic_check.missing != before.topic_check.missing:
        yield "missing", dict(after.topic_check.missing)
    if after.problem is not before.problem:
        yield "problem", None if after.problem is None else encode(after.problem)


def _lateness_s(step: Step) -> float:
    kinds = Heartbeat | ClassicHeartbeat
    beats = any(isinstance(effect, Send) and isinstance(effect.request, kinds) for effect in step.effects)
    return step.at - step.before.heartbeat_due if beats and step.before.heartbeat_due > 0 else 0.0


def _safe(event: Event) -> Event:
    if isinstance(event, CallbackReturned) and event.error is not None:
        return replace(event, error=str(raised_by(event.error)))
    return event


_EVERY_S = 1.0


# --- a thread that waits for the interpreter --------------------------------------------------------------------------


_HELD_S = 1.0
_WAKES_PER_S = 20.0
"""A thread that waits for the lock of the interpreter wakes 200 times a second; one that waits for a broker hardly ever."""

_OF_THREAD = getattr(resource, "RUSAGE_THREAD", None)


def switches() -> int:
    """How often the calling thread gave up the processor by itself; 0 on systems that do not count it for a thread."""
    return 0 if _OF_THREAD is None else resource.getrusage(_OF_THREAD).ru_nvcsw


# --- commits ---------------------------------------------------------------------------------------------------------


class CommitTally:
    """Notes each commit that failed, and successful ones as counts, so that they do not displace other entries.

    For any thread. If two threads commit at once, a count may be too low, which does no harm.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._count = 0
        self._slowest_s = 0.0
        self._since = time.monotonic()

    @contextlib.contextmanager
    def commit(self, partitions: int) -> Iterator[None]:
        began_at = time.monotonic()
        try:
            yield
        except MembershipError as error:
            took_s, kind = time.monotonic() - began_at, type(error).__name__
            self._journal.note("commit refused", partitions=partitions, took=took_s, error=kind, detail=error.detail)
            raise
        self._add(began_at, time.monotonic())

    def _add(self, began_at: float, now: float) -> None:
        self._count += 1
        self._slowest_s = max(self._slowest_s, now - began_at)
        if now - self._since >= _EVERY_S:
            self.sum_up()

    def sum_up(self) -> None:
        """Note the counts that were not noted yet, because no further commit may follow."""
        if self._count:
            self._journal.note("commits", count=self._count, slowest=self._slowest_s)
        self._count, self._slowest_s, self._since = 0, 0.0, time.monotonic()


# --- the origin of a trace -------------------------------------------------------------------------------------------


def origin() -> dict[str, str | int]:
    """Describes the calling process and thread. Of the environment it has only the names that orchestrators give."""
    found: dict[str, str | int | None] = {
        "client": _version(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "pod": os.environ.get("POD_NAME") or (os.environ.get("HOSTNAME") if _in_kubernetes() else None),
        "spark": _spark_task(),
    }
    return {key: value for key, value in found.items() if value is not None}


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - takes long: it loads email and zipfile

    try:
        return version("membership-client")
    except PackageNotFoundError:
        return "unknown"


def _in_kubernetes() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _spark_task() -> str | None:
    """Describes the Spark task of this process; None unless pyspark is loaded, so that other processes need not import it."""
    pyspark = sys.modules.get("pyspark")
    task = pyspark.TaskContext.get() if pyspark is not None else None
    if task is None:
        return None
    # A job of one task always has partition 0, so the Spark integration says which slot it is.
    part = os.environ.get("MEMBERSHIP_CLIENT_SLOT") or f"partition {task.partitionId()}"
    return f"{part}, stage {task.stageId()}, attempt {task.attemptNumber()}"
