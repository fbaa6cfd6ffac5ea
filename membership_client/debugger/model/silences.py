"""Times in which a member should have done something by its own clock, and did nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from membership_client.core.events import (
    Answered,
    ClassicHeartbeat,
    DescribeTopics,
    Disconnect,
    Failed,
    FindCoordinator,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    JoinGroup,
    Request,
    ResolveTopics,
    Send,
    SyncGroup,
)
from membership_client.core.member import IN_GROUP, Member
from membership_client.core.requests import JOIN_PATIENCE_S
from membership_client.debugger.model.trace_entry import TraceEntry

_LATE_S = 1.0
"""A member on a busy machine is late by less than this."""
_SLEEP_S = 5.0
"""A clock is usually set by less than this."""
_NO_HEARTBEAT_DURING = frozenset({"lookup", "dialogue"})
"""No heartbeat is due while one of these requests is under way. Requests about topics delay no heartbeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A time in which a member did nothing; several that follow each other closely are one."""

    before: TraceEntry
    after: TraceEntry
    late_s: float
    """How long after it was due the next step came."""
    cpu_s: float
    """Processor time that the process used meanwhile."""
    slept_s: float = 0.0
    """How much of it the member's own clock did not see, because the machine slept, or its clock was set."""
    awaited: bool = False
    """The member waited for the answer to a heartbeat and then read it. Nothing else was due, and the answer may have been late."""

    @property
    def lasted_s(self) -> float:
        return self.after.at - self.before.at + self.slept_s

    @property
    def cpu_shares(self) -> tuple[float, float]:
        """The least and the most that it used of one processor while it was late: it may have used the rest before it was late."""
        on_time_s = self.lasted_s - self.late_s
        return max(0.0, self.cpu_s - on_time_s) / self.late_s, self.cpu_s / self.late_s


class _Schedule:
    """What a member waits for, by its steps so far: answers, or the time of its next heartbeat."""

    def __init__(self, start: Member) -> None:
        self._config = start.config
        self._interval_s = start.interval_s
        self._timeout_s = start.request_timeout_s
        self._flights: dict[str, tuple[int, float]] = {}
        """By slot, the request under way and when its time is up."""
        self._heartbeat_at = 0.0
        self._throttle_s = 0.0

    def add(self, step: TraceEntry) -> None:
        event = step.event
        if isinstance(event, Answered | Failed):
            self._flights = {slot: (id_, end) for slot, (id_, end) in self._flights.items() if id_ != event.request_id}
        if isinstance(event, Answered):
            self._throttle_s = event.throttle_s
            if isinstance(event.response, HeartbeatAccepted):
                self._interval_s = event.response.interval_s or self._interval_s
        if step.effects_of(Disconnect):
            self._flights = {}
        for send in step.effects_of(Send):
            if isinstance(send.request, JoinGroup | ClassicHeartbeat):
                self._interval_s = self._config.heartbeat_interval_ms / 1000
            self._flights[_slot(send.request)] = send.request_id, step.at + self._patience_s(send.request)
            self._heartbeat_at = step.at

    def _patience_s(self, request: Request) -> float:
        """Joins and syncs of a classic group wait for others."""
        waits = isinstance(request, JoinGroup | SyncGroup)
        longest_s = self._config.max_poll_interval_ms / 1000 + JOIN_PATIENCE_S
        return max(self._timeout_s, longest_s) if waits else self._timeout_s

    def due(self, step: TraceEntry) -> float | None:
        """When the step after this one must come at the latest; None if it need not come at all."""
        if step.state not in IN_GROUP:
            return None
        timeouts = {slot: end for slot, (_, end) in self._flights.items() if end > step.at}
        if not _NO_HEARTBEAT_DURING & timeouts.keys():
            timeouts["heartbeat"] = self.next_heartbeat(step)
        return min(timeouts.values())

    def is_awaited(self, step: TraceEntry) -> bool:
        """Does this step bring the answer to a heartbeat that was under way?"""
        event, (under_way, _) = step.event, self._flights.get("dialogue", (None, 0.0))
        if not isinstance(event, Answered) or event.request_id != under_way:
            return False
        return isinstance(event.response, HeartbeatAccepted | HeartbeatConfirmed)

    def next_heartbeat(self, step: TraceEntry) -> float:
        """When the heartbeat after this step is due at the latest, if none is under way."""
        rest_s = max(self._config.retry_backoff_max_ms / 1000 * 1.2, self._config.retry_when_full_s or 0.0)
        return max(step.at, self._heartbeat_at) + max(self._interval_s, rest_s) + self._throttle_s


def _slot(request: Request) -> str:
    if isinstance(request, FindCoordinator):
        return "lookup"
    if isinstance(request, DescribeTopics):
        return "survey"
    return "naming" if isinstance(request, ResolveTopics) else "dialogue"


def silences_of(steps: Sequence[TraceEntry], start: Member) -> tuple[Silence, ...]:
    """In order of time. Time between two files is left out, because a file between them may be missing."""
    found: list[Silence] = []
    for silence in _single(steps, start):
        if found and silence.before.at - found[-1].after.at < _LATE_S:
            last = found.pop()
            found.append(_both(last, silence))
        else:
            found.append(silence)
    return tuple(found)


def _both(silence: Silence, following: Silence) -> Silence:
    return replace(
        silence,
        after=following.after,
        late_s=silence.late_s + following.late_s,
        cpu_s=silence.cpu_s + following.cpu_s,
        slept_s=silence.slept_s + following.slept_s,
        awaited=silence.awaited and following.awaited,
    )


def _single(steps: Sequence[TraceEntry], start: Member) -> Iterator[Silence]:
    schedule, due, before = _Schedule(start), None, None
    for step in steps:
        slept_s = step.jumped_s if step.jumped_s > _SLEEP_S else 0.0
        if before is not None and due is not None and not step.opens:
            awaited = step.at + slept_s <= due + _LATE_S and schedule.is_awaited(step)
            late_s = step.at + slept_s - (schedule.next_heartbeat(before) if awaited else due)
            if late_s > _LATE_S:
                cpu_s = max(0.0, (step.cpu_s or 0.0) - (before.cpu_s or 0.0))
                yield Silence(before=before, after=step, late_s=late_s, cpu_s=cpu_s, slept_s=slept_s, awaited=awaited)
        schedule.add(step)
        due, before = schedule.due(step), step
