"""Times in which a member did nothing although something was due, and times in which it worked and got no answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from membership_client.core.error_codes import COORDINATOR_AWAY, Code
from membership_client.core.events import (
    Answered,
    ClassicHeartbeat,
    CoordinatorFound,
    DescribeTopics,
    Disconnect,
    Failed,
    FailureKind,
    FindCoordinator,
    GroupJoined,
    GroupSynced,
    Heartbeat,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    JoinGroup,
    MemberIdGiven,
    Refused,
    Request,
    ResolveTopics,
    Send,
    SyncGroup,
)
from membership_client.core.member import IN_GROUP, Member
from membership_client.core.requests import JOIN_PATIENCE_S
from membership_client.debugger.model.memberships import refusal_of
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.errors import ProblemKind
from membership_client.types import Node

_LATE_S = 1.0
"""A member on a busy machine is late by less than this."""
_SLEEP_S = 5.0
"""A clock is usually set by less than this."""
_FENCES = frozenset({Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH, Code.ILLEGAL_GENERATION})
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

    def includes_sleep(self, step: TraceEntry) -> bool:
        """Did the jump of the clock before that step come in this time, and is it long enough for a sleep of the machine?"""
        return self.slept_s > 0 and step.jumped_s > _SLEEP_S and self.before.at < step.at <= self.after.at

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
        if isinstance(event.response, Refused):
            return event.response.code in _FENCES
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


# --- outages ---------------------------------------------------------------------------------------------------------


_ANSWERS = (HeartbeatAccepted, HeartbeatConfirmed, MemberIdGiven, GroupJoined, GroupSynced, Refused)
_SILENT = frozenset({FailureKind.UNREACHABLE, FailureKind.DISCONNECTED, FailureKind.TIMED_OUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """From the first failure to the next heartbeat, or classic join, that was answered as such."""

    failures: tuple[TraceEntry, ...]
    """Steps that record a lost connection, an answer that did not come, or a broker that is not the coordinator."""
    end: TraceEntry | None
    """None if the trace ends before it is over."""
    last: TraceEntry
    node: Node | None
    """The coordinator that was lost; None if none was known."""
    moved_to: Node | None = None
    """The new coordinator, if another broker became it."""
    asked: TraceEntry
    """The step that sent the heartbeat which got no answer; the first failure itself if there is none, or a broker answered."""

    @property
    def first(self) -> TraceEntry:
        return self.failures[0]

    @property
    def lasted_s(self) -> float:
        return self.last.at - self.first.at

    def since(self, silences: Sequence[Silence]) -> TraceEntry:
        """From when on no broker answered: an answer may also have lain unread while the member did nothing."""
        unread = any(silence.before.at < self.first.at and silence.after.at > self.asked.at for silence in silences)
        return self.first if unread else self.asked


def outages_of(steps: Sequence[TraceEntry], coordinator: Node | None) -> tuple[Outage, ...]:
    """`coordinator` is the one that was known when the trace began."""
    found: list[Outage] = []
    failures: list[TraceEntry] = []
    node, under_way, asked = coordinator, _UnderWay(), None
    for step in steps:
        if failure_text(step) is not None:
            node, asked = (node, asked) if failures else (coordinator, under_way.sent or step)
            failures.append(step)
        coordinator = coordinator_of(step) or coordinator
        if failures and failures[-1] is not step and _is_answered(step):
            found.append(_outage((node, coordinator), failures, asked, step))
            failures = []
        under_way.add(step)
    if failures:
        found.append(replace(_outage((node, coordinator), failures, asked, steps[-1]), end=None))
    return tuple(found)


class _UnderWay:
    """The heartbeat that has no answer yet. Joins and syncs wait for other members, so theirs may come late."""

    def __init__(self) -> None:
        self.sent: TraceEntry | None = None
        """The step that sent it."""
        self._id: int | None = None

    def add(self, step: TraceEntry) -> None:
        event = step.event
        if isinstance(event, Answered | Failed) and event.request_id == self._id:
            self.sent = None
        for send in step.effects_of(Send):
            if isinstance(send.request, Heartbeat | ClassicHeartbeat):
                self.sent, self._id = step, send.request_id
            elif _slot(send.request) == "dialogue":
                self.sent = None


def _outage(
    nodes: tuple[Node | None, Node | None], failures: list[TraceEntry], asked: TraceEntry | None, end: TraceEntry
) -> Outage:
    old, new = nodes
    moved_to = new if old is not None and new != old else None
    first = failures[0]
    since = first if asked is None or is_told(first) else asked
    return Outage(failures=tuple(failures), asked=since, end=end, last=end, node=old, moved_to=moved_to)


def failure_text(step: TraceEntry) -> str | None:
    """What failed at that step, if something did."""
    event = step.event
    if isinstance(event, Failed) and event.kind in _SILENT:
        return f"{event.kind.value}: {event.detail}"
    if is_told(step) and (said := refusal_of(step)):
        return said
    if step.effects_of(Disconnect):
        problem = step.problem
        is_new = problem is not None and problem != step.problem_before and problem.kind is ProblemKind.UNREACHABLE
        return problem.detail if problem is not None and is_new else "no answer in time"
    return None


def is_told(step: TraceEntry) -> bool:
    """Did a broker answer that it is not, or not yet, the coordinator?"""
    event = step.event
    return (
        isinstance(event, Answered) and isinstance(event.response, Refused) and event.response.code in COORDINATOR_AWAY
    )


def is_broken(step: TraceEntry) -> bool:
    """Did a connection end, or could none be made? A network that swallows everything does neither."""
    return isinstance(step.event, Failed) and step.event.kind in {FailureKind.DISCONNECTED, FailureKind.UNREACHABLE}


def _is_answered(step: TraceEntry) -> bool:
    """Was a heartbeat or a join answered? Any answer, also an error, shows that the coordinator is there."""
    return isinstance(step.event, Answered) and isinstance(step.event.response, _ANSWERS)


def coordinator_of(step: TraceEntry) -> Node | None:
    """The coordinator that was found at that step."""
    event = step.event
    if isinstance(event, Answered) and isinstance(event.response, CoordinatorFound):
        return event.response.node
    return None
