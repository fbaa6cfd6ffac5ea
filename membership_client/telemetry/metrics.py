"""The metrics of one member, and the counters, histograms and gauges that all members of the process share."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation

from membership_client.core.error_codes import Code, code_name
from membership_client.core.events import (
    Answered,
    Budget,
    ClassicHeartbeat,
    Disconnect,
    Failed,
    FailureKind,
    Heartbeat,
    Refused,
    Warn,
)
from membership_client.core.machine import Step
from membership_client.core.member import InFlight, Member
from membership_client.runtime.rebalance_tracker import (
    CallbackEnded,
    Fact,
    Fenced,
    PhaseEnded,
    RebalanceEnded,
    RebalanceFailed,
)
from membership_client.telemetry import names
from membership_client.telemetry.live_members import LiveMember, LiveMembers
from membership_client.telemetry.names import Labels, kind_label
from membership_client.telemetry.partitions import PartitionGauges
from membership_client.types import MemberState


class Metrics:
    """Records the metrics of one member. `take` is for the membership thread, `commit` and `polling` for any thread."""

    def __init__(self, instruments: Instruments, labels: Labels) -> None:
        self._instruments = instruments
        self._labels = labels
        self._began = False

    def take(self, step: Step, facts: Sequence[Fact]) -> None:
        if not self._began:
            self._begin()
        if (heartbeat := heartbeat_outcome(step)) is not None:
            self._instruments.heartbeat_duration.record(heartbeat.took_s, self._with_error(heartbeat.error))
        for effect in step.effects:
            if isinstance(effect, Warn):
                self._instruments.warnings.add(1, {**self._labels, names.BUDGET: effect.budget.name.lower()})
        self.count(facts)

    def _begin(self) -> None:
        """Record 0 in counters of troubles: Prometheus sees no increase in a counter whose first value is 1."""
        self._began = True
        self._instruments.fences.add(0, self._labels)
        for budget in Budget:
            self._instruments.warnings.add(0, {**self._labels, names.BUDGET: budget.name.lower()})

    def count(self, facts: Sequence[Fact]) -> None:
        for fact in facts:
            match fact:
                case RebalanceEnded():
                    self._count_rebalance(fact)
                case PhaseEnded():
                    labels = {**self._labels, names.PHASE: fact.phase}
                    self._instruments.phase_duration.record(fact.at - fact.began_at, labels)
                case CallbackEnded(returned=True):
                    self._count_callback(fact)
                case Fenced():
                    self._instruments.fences.add(1, self._labels)
                case RebalanceFailed():
                    self._instruments.rebalance_failures.add(1, self._with_error(kind_label(fact.kind)))

    @contextlib.contextmanager
    def commit(self) -> Iterator[None]:
        began_at, error = time.monotonic(), None
        try:
            yield
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            commit = {names.OPERATION_NAME: "commit", names.OPERATION_TYPE: "settle"}
            labels = {**self._with_error(error), **commit}
            self._instruments.operation_duration.record(time.monotonic() - began_at, labels)

    def polling(self, idle_s: float, busy_s: float) -> None:
        self._instruments.poll_time.add(idle_s, {**self._labels, names.POLL_STATE: "idle"})
        self._instruments.poll_time.add(busy_s, {**self._labels, names.POLL_STATE: "busy"})

    def _count_rebalance(self, ended: RebalanceEnded) -> None:
        labels = {
            **self._labels,
            names.CAUSE_KIND: kind_label(ended.began.cause.kind),
            names.OUTCOME: ended.outcome,
        }
        self._instruments.rebalance_duration.record(ended.at - ended.began.at, labels)

    def _count_callback(self, ended: CallbackEnded) -> None:
        kind = {names.CALLBACK_KIND: ended.kind.value}
        error = None if ended.error is None else ended.error.kind
        self._instruments.callback_duration.record(ended.at - ended.began_at, {**self._with_error(error), **kind})
        self._instruments.moved.add(ended.moved, {**self._labels, **kind})

    def _with_error(self, error: str | None) -> Labels:
        return self._labels if error is None else {**self._labels, names.ERROR_TYPE: error}


# --- heartbeats ------------------------------------------------------------------------------------------------------


class HeartbeatOutcome(NamedTuple):
    took_s: float
    error: str | None
    """The name of the error code in the answer, or of the failure without an answer; None if all was well."""


def heartbeat_outcome(step: Step) -> HeartbeatOutcome | None:
    """The outcome of the heartbeat that this step ended; None if it ended none."""
    return _ended(step, step.before.dialogue, step.after.dialogue) or _ended(
        step, step.before.join_keepalive, step.after.join_keepalive
    )


def _ended(step: Step, flight: InFlight | None, following: InFlight | None) -> HeartbeatOutcome | None:
    if flight is None or flight is following or not isinstance(flight.request, Heartbeat | ClassicHeartbeat):
        return None
    event = step.event
    if isinstance(event, Answered | Failed) and event.request_id == flight.request_id:
        return HeartbeatOutcome(step.at - flight.sent_at, _error(event))
    return _timed_out(step, flight)


def _error(event: Answered | Failed) -> str | None:
    if isinstance(event, Failed):
        return event.kind.name.lower()
    # In the classic protocol this code tells that the group rebalances; the heartbeat itself is accepted.
    code = event.response.code if isinstance(event.response, Refused) else Code.REBALANCE_IN_PROGRESS
    return None if code == Code.REBALANCE_IN_PROGRESS else code_name(code)


def _timed_out(step: Step, flight: InFlight) -> HeartbeatOutcome | None:
    """The outcome of a heartbeat that timed out; None if the member itself dropped it."""
    dropped = any(isinstance(effect, Disconnect) and effect.to == flight.to for effect in step.effects)
    return HeartbeatOutcome(step.at - flight.sent_at, FailureKind.TIMED_OUT.name.lower()) if dropped else None


_OUT = frozenset({MemberState.UNSUBSCRIBED, MemberState.STALE, MemberState.FATAL})


def confirmed_at(member: Member) -> float | None:
    """When the coordinator last confirmed the member; None while the member does not try to be in the group."""
    return None if member.state in _OUT else member.confirmed_at


# --- counters and histograms -----------------------------------------------------------------------------------------


_REQUEST_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""The buckets that OpenTelemetry's messaging conventions advise."""
_REBALANCE_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""From a round trip to twice the default poll interval, which is how long a group waits for one member."""


class Instruments:
    def __init__(self, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        self._meter = meter
        self.rebalance_duration = self._histogram(
            names.REBALANCE_DURATION, "a rebalance, until its member is stable", slow=True
        )
        self.phase_duration = self._histogram(names.PHASE_DURATION, "one phase of a rebalance", slow=True)
        self.callback_duration = self._histogram(names.CALLBACK_DURATION, "a callback, while it runs", slow=True)
        self.heartbeat_duration = self._histogram(names.HEARTBEAT_DURATION, "from a heartbeat to its answer")
        self.operation_duration = self._histogram(names.OPERATION_DURATION, "a commit, with its retries")
        self.rebalance_failures = meter.create_counter(
            names.REBALANCE_FAILURES, "{rebalance}", "rebalances that failed"
        )
        self.fences = meter.create_counter(names.FENCES, "{fence}", "how often the coordinator fenced a member")
        self.warnings = meter.create_counter(
            names.WARNINGS, "{warning}", "warnings that a callback, a close or a poll is about to exceed its time"
        )
        self.moved = meter.create_counter(names.MOVED, "{partition}", "partitions that were assigned, revoked or lost")
        self.poll_time = meter.create_counter(names.POLL_TIME, "s", "time inside poll() and between two polls")
        self.live_members = LiveMembers()
        self._gauges = Gauges(meter, self.live_members, clock)
        self._partition_gauges = PartitionGauges(meter, self.live_members)

    def _histogram(self, name: str, description: str, *, slow: bool = False) -> Histogram:
        buckets = _REBALANCE_BUCKETS_S if slow else _REQUEST_BUCKETS_S
        return self._meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=buckets)


# --- gauges -----------------------------------------------------------------------------------------------------------


Ages = Callable[[LiveMember], float | None]


class Gauges:
    """Read by exporters, on their threads. An age is the largest of the group's members; that of a rebalance, the smallest."""

    def __init__(self, meter: Meter, live_members: LiveMembers, clock: Callable[[], float]) -> None:
        self._live_members = live_members
        self._clock = clock
        meter.create_observable_up_down_counter(names.MEMBERS, [self._members], "{member}", "members in each state")
        meter.create_observable_up_down_counter(
            names.ASSIGNED, [self._assigned], "{partition}", "partitions that members own"
        )
        meter.create_observable_gauge(
            names.REBALANCE_AGE, [self._rebalance_age], "s", "time since a rebalance last ended"
        )
        meter.create_observable_gauge(
            names.HEARTBEAT_AGE, [self._heartbeat_age], "s", "time since the coordinator last confirmed the member"
        )
        meter.create_observable_gauge(names.POLL_AGE, [self._poll_age], "s", "time since the application last polled")

    def _members(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, group in self._live_members.groups():
            states = [live.worker.member.state for live in group]
            for state in MemberState:
                yield Observation(states.count(state), {**labels, names.STATE: state.value})

    def _assigned(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, group in self._live_members.groups():
            yield Observation(sum(len(live.worker.member.owned) for live in group), labels)

    def _rebalance_age(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._ages(lambda live: live.tracker.settled_at, max)

    def _heartbeat_age(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._ages(lambda live: confirmed_at(live.worker.member), min)

    def _poll_age(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._ages(lambda live: live.worker.polled_at, min)

    def _ages(self, moment: Ages, chosen: Callable[[Iterable[float]], float]) -> Iterator[Observation]:
        """The time since that moment, of the members that have one."""
        for labels, group in self._live_members.groups():
            moments = [at for live in group if (at := moment(live)) is not None]
            if moments:
                yield Observation(max(0.0, self._clock() - chosen(moments)), labels)
