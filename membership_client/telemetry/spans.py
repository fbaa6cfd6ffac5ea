"""One span per rebalance, with a child per phase and per callback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, Status, StatusCode, Tracer, set_span_in_context

from membership_client.core.events import Event, Subscribe
from membership_client.core.exception_summary import Raised
from membership_client.core.member import Member
from membership_client.runtime.rebalance_tracker import (
    CRASHED,
    CallbackEnded,
    CauseChanged,
    Fact,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
)
from membership_client.telemetry import names
from membership_client.telemetry.backend import Clock, wall_ns
from membership_client.telemetry.names import cause_labels, span_labels
from membership_client.types import CauseKind

_BAD_OUTCOMES = frozenset({"stale", "fatal", CRASHED})


class Spans:
    """Makes the spans of one member, on the membership thread. A rebalance that is not sampled gets no spans."""

    def __init__(self, tracer: Tracer, member: Member, clock: Clock) -> None:
        self._tracer = tracer
        self._labels = span_labels(member)
        self._clock = clock
        self._offset_ns = 0
        """Kept during a rebalance: if the clock is set meanwhile, its spans still fit together."""
        self._rebalance: Span | None = None
        self._phase: tuple[PhaseBegan, Span] | None = None
        self._moved: Counter[str] = Counter()
        self._subscribed_by: SpanContext | None = None

    def note(self, event: Event, asked_by: SpanContext | None) -> None:
        """Remember which span asked for the event. Call it before `take`."""
        if isinstance(event, Subscribe):
            self._subscribed_by = asked_by
        if self._rebalance is not None and asked_by is not None:
            self._rebalance.add_link(asked_by)

    def take(self, facts: Sequence[Fact], asked_by: SpanContext | None) -> None:
        """Make spans of the facts of one step. `asked_by` is the application's span that asked for it, if there is one."""
        for fact in facts:
            match fact:
                case RebalanceBegan():
                    self._begin(fact, asked_by)
                case PhaseBegan():
                    self._begin_phase(fact)
                case PhaseEnded():
                    self._end_phase(fact)
                case CallbackEnded():
                    self._add_callback(fact)
                case CauseChanged():
                    self._add_cause(fact)
                case RebalanceEnded():
                    self._end(fact)

    def _begin(self, began: RebalanceBegan, asked_by: SpanContext | None) -> None:
        if began.cause.kind is CauseKind.SUBSCRIPTION_CHANGED:
            asked_by = self._subscribed_by
        self._offset_ns = self._clock.offset_ns()
        self._moved.clear()
        span = self._tracer.start_span(
            names.REBALANCE_SPAN,
            # An empty context: the thread is the application's if it closes a member that was never started.
            context=Context(),
            attributes={
                **self._labels,
                **cause_labels(began.cause),
                names.OPERATION_NAME: "rebalance",
                names.EPOCH_BEFORE: began.epoch,
            },
            links=() if asked_by is None else (Link(asked_by),),
            start_time=self._ns(began.at),
        )
        self._rebalance = span if span.is_recording() else None

    def _end(self, ended: RebalanceEnded) -> None:
        if self._rebalance is None:
            return
        moved = {names.PARTITIONS_MOVED.format(kind=kind): count for kind, count in self._moved.items()}
        self._rebalance.set_attributes({**moved, names.OUTCOME: ended.outcome, names.EPOCH_AFTER: ended.epoch})
        if ended.outcome in _BAD_OUTCOMES:
            self._rebalance.set_status(Status(StatusCode.ERROR, ended.outcome))
        self._rebalance.end(self._ns(ended.at))
        self._rebalance = None

    def _begin_phase(self, began: PhaseBegan) -> None:
        if self._rebalance is not None:
            name = names.PHASE_SPAN.format(phase=began.phase)
            self._phase = (began, self._child(name, self._rebalance, began.at, {names.PHASE: began.phase}))

    def _end_phase(self, ended: PhaseEnded) -> None:
        if self._phase is not None:
            self._phase[1].end(self._ns(ended.at))
            self._phase = None

    def _add_cause(self, changed: CauseChanged) -> None:
        if self._rebalance is not None:
            self._rebalance.add_event(names.CAUSE_EVENT, cause_labels(changed.cause), self._ns(changed.at))

    def _add_callback(self, ended: CallbackEnded) -> None:
        self._moved[ended.kind.value] += ended.moved
        if (parent := self._around(ended.began_at)) is None:
            return
        span = self._child(
            names.CALLBACK_SPAN.format(kind=ended.kind.value), parent, ended.began_at, _callback_labels(ended)
        )
        if ended.error is not None:
            self._add_error(span, ended.error, ended.at)
        span.end(self._ns(ended.at))

    def _add_error(self, span: Span, error: Raised, at: float) -> None:
        facts = {names.EXCEPTION_TYPE: error.kind, names.EXCEPTION_STACK: str(error)}
        span.add_event(names.EXCEPTION_EVENT, facts, self._ns(at))
        span.set_attribute(names.ERROR_TYPE, error.kind)
        span.set_status(Status(StatusCode.ERROR, error.kind))

    def _around(self, at: float) -> Span | None:
        """The phase's span if the phase had begun by then, or else the rebalance's: a callback may outlast a phase."""
        if self._phase is not None and self._phase[0].at <= at:
            return self._phase[1]
        return self._rebalance

    def _child(self, name: str, parent: Span, at: float, more: dict[str, str | int | float | bool]) -> Span:
        context = set_span_in_context(parent, Context())
        return self._tracer.start_span(
            name, context=context, attributes={**self._labels, **more}, start_time=self._ns(at)
        )

    def _ns(self, at: float) -> int:
        return wall_ns(at, self._offset_ns)


def _callback_labels(ended: CallbackEnded) -> dict[str, str | int | float | bool]:
    thread = {} if ended.thread is None else {names.THREAD: ended.thread}
    return {
        names.CALLBACK_KIND: ended.kind.value,
        names.PARTITIONS: ended.partitions,
        names.CALLBACK_RETURNED: ended.returned,
        names.CALLBACK_WAITED: ended.began_at - ended.wanted_at,
        **thread,
    }
