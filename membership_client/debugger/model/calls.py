"""The callbacks of one run: when each was wanted, when it began, when it ended, where and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from membership_client.core.events import Budget, CallbackDelayed, CallbackKind, CallbackReturned, RunCallback
from membership_client.debugger.model.history_step import Moment
from membership_client.trace.values import encode
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    call_id: int
    kind: CallbackKind
    partitions: tuple[TopicPartition, ...]
    wanted: Moment
    last: Moment
    """Its return, or the last moment there is of a callback that has not returned."""
    returned: bool = False
    error: str | None = None
    began_at: float | None = None
    """By the member's clock; None where nobody told: then it is taken to have begun when it was wanted."""
    thread: str | None = None
    warnings: tuple[Moment, ...] = ()
    """Notes that tell what its thread was doing."""
    delays: tuple[Moment, ...] = ()
    """Where the consumer told that it could not begin."""

    @property
    def waited_s(self) -> float:
        """How long it was wanted and had not begun."""
        return max(0.0, self.began_at - self.wanted.at) if self.began_at is not None else 0.0

    @property
    def lasted_s(self) -> float:
        """From when it was wanted to its return: so long the group waited."""
        return self.last.at - self.wanted.at

    @property
    def ran_s(self) -> float:
        return self.lasted_s - self.waited_s


def calls_of(moments: Iterable[Moment]) -> tuple[Call, ...]:
    """In the order they were wanted. One that began before the trace did is left out.

    A member has one callback at a time: when the next is wanted, the one before it has returned, told or not.
    """
    calls: dict[int, Call] = {}
    running: Call | None = None
    for moment in moments:
        # The return of one may be what the next was waiting for.
        if running is not None:
            calls[running.call_id] = after = _after(running, moment)
            running = None if after.returned else after
        for wanted in moment.effects_of(RunCallback):
            running = _call(wanted, moment)
            calls[wanted.call_id] = running
    return tuple(calls.values())


def _call(wanted: RunCallback, moment: Moment) -> Call:
    return Call(call_id=wanted.call_id, kind=wanted.kind, partitions=wanted.partitions, wanted=moment, last=moment)


def _after(call: Call, moment: Moment) -> Call:
    """What is known of a callback that runs, with one moment more."""
    event = moment.event
    if isinstance(event, CallbackReturned) and event.call_id == call.call_id:
        return replace(
            call, last=moment, returned=True, error=event.error, began_at=event.began_at, thread=event.thread
        )
    if isinstance(event, CallbackDelayed) and event.call_id == call.call_id:
        return replace(call, last=moment, delays=(*call.delays, moment))
    warnings = (*call.warnings, moment) if _warns_of(call, moment) else call.warnings
    return replace(call, last=moment, warnings=warnings)


def _warns_of(call: Call, moment: Moment) -> bool:
    """A consumer that waits for a poll is warned of the poll, or of the callback; what is in hand belongs to it too."""
    if moment.note == "in hand":
        return True
    if moment.note != "warning":
        return False
    return moment.facts.get("call") == call.call_id or moment.facts.get("budget") == encode(Budget.POLL)
