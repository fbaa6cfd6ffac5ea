"""The callbacks of one run: when each was wanted, when it began, when it ended, where and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from membership_client.core.events import Budget, CallbackDelayed, CallbackKind, CallbackReturned, RunCallback
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.trace.values import encode
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackRecord:
    call_id: int
    kind: CallbackKind
    partitions: tuple[TopicPartition, ...]
    wanted: TraceEntry
    last: TraceEntry
    """Its return, or the last entry of the trace if it has not returned."""
    returned: bool = False
    error: str | None = None
    began_at: float | None = None
    """By the member's clock; None if the trace does not say: then it counts as begun when it was wanted."""
    thread: str | None = None
    warnings: tuple[TraceEntry, ...] = ()
    """Notes that tell what its thread was doing."""
    delays: tuple[TraceEntry, ...] = ()
    """Where the consumer told that it could not begin."""

    @property
    def waited_s(self) -> float:
        """How long it was wanted and had not begun."""
        return max(0.0, self.began_at - self.wanted.at) if self.began_at is not None else 0.0

    @property
    def lasted_s(self) -> float:
        """From when it was wanted to its return: the time that the group waited."""
        return self.last.at - self.wanted.at

    @property
    def ran_s(self) -> float:
        return self.lasted_s - self.waited_s


def calls_of(entries: Iterable[TraceEntry]) -> tuple[CallbackRecord, ...]:
    """In the order they were wanted. A callback that was wanted before the trace began is left out.

    A member has one callback at a time: when the next is wanted, the one before it has returned, even if the trace lacks that.
    """
    calls: dict[int, CallbackRecord] = {}
    running: CallbackRecord | None = None
    for entry in entries:
        # The return of one may be what the next was waiting for.
        if running is not None:
            calls[running.call_id] = after = _after(running, entry)
            running = None if after.returned else after
        for wanted in entry.effects_of(RunCallback):
            running = _call(wanted, entry)
            calls[wanted.call_id] = running
    return tuple(calls.values())


def _call(wanted: RunCallback, entry: TraceEntry) -> CallbackRecord:
    return CallbackRecord(
        call_id=wanted.call_id, kind=wanted.kind, partitions=wanted.partitions, wanted=entry, last=entry
    )


def _after(call: CallbackRecord, entry: TraceEntry) -> CallbackRecord:
    """The record of a running callback after one more entry."""
    event = entry.event
    if isinstance(event, CallbackReturned) and event.call_id == call.call_id:
        return replace(call, last=entry, returned=True, error=event.error, began_at=event.began_at, thread=event.thread)
    if isinstance(event, CallbackDelayed) and event.call_id == call.call_id:
        return replace(call, last=entry, delays=(*call.delays, entry))
    if not _warns_of(call, entry):
        return replace(call, last=entry)
    return replace(call, last=entry, warnings=(*_without_middle(call.warnings, entry), entry))


def _without_middle(notes: tuple[TraceEntry, ...], entry: TraceEntry) -> tuple[TraceEntry, ...]:
    """Of several notes in which a thread stands at the same place, the first and the last are enough."""
    same = entry.note == "stack" and [note.facts.get("stack") for note in notes[-2:]] == [entry.facts.get("stack")] * 2
    return notes[:-1] if same and notes[-1].note == "stack" else notes


def _warns_of(call: CallbackRecord, entry: TraceEntry) -> bool:
    """Is the note about this callback? While it waits for a poll, warnings about the poll are, and notes of records in hand."""
    if entry.note == "in hand":
        return True
    if entry.note not in {"warning", "stack"}:
        return False
    return entry.facts.get("call") == call.call_id or entry.facts.get("budget") == encode(Budget.POLL)
