"""The observer that makes spans and metrics of one member's steps."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from opentelemetry import trace
from opentelemetry.trace import SpanContext

from membership_client.core.events import Event
from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.runtime.rebalance_tracker import RebalanceTracker
from membership_client.runtime.worker import Worker
from membership_client.telemetry import backend as backends
from membership_client.telemetry.backend import Backend, Switch
from membership_client.telemetry.live_members import LiveMember
from membership_client.telemetry.metrics import Metrics
from membership_client.telemetry.names import metric_labels
from membership_client.telemetry.spans import Spans
from membership_client.types import Progress

logger = logging.getLogger("membership_client")

E = TypeVar("E", bound=Event)


class Telemetry:
    """The telemetry of one member. `on_step` and `end` are for the membership thread; `asked`, `commit` and `polling` for any.

    The application's SDK runs on the calling thread when a span ends or a number is recorded.
    """

    def __init__(self, member: Member, backend: Backend | None = None) -> None:
        self._backend = backend or backends.of_process()
        self._labels = metric_labels(member)
        self._switch = Switch(self._backend.is_listening)
        self._triggering_spans = TriggeringSpans()
        self._tracker = RebalanceTracker()
        self._spans = Spans(self._backend.tracer, member, self._backend.clock)
        self._metrics = Metrics(self._backend.instruments, self._labels)
        self._tell_polling: Callable[[float, float], None] = self._metrics.polling
        self._watched: LiveMember | None = None

    def watch(self, worker: Worker, progress: Callable[[], Progress] | None = None) -> None:
        """Include the worker's member in the gauges until the worker stops. `progress` is called on exporters' threads."""
        self._watched = LiveMember(worker, self._tracker, self._labels, progress)
        self._backend.instruments.live_members.add(self._watched)

    def asked(self, event: E) -> E:
        """Note the calling thread's span as the one that asked for the event, and return the event."""
        self._triggering_spans.note(event)
        return event

    def on_step(self, step: Step) -> None:
        if not self._switch.is_on(step):
            return
        asked_by = self._triggering_spans.take(step.event)
        self._spans.note(step.event, asked_by)
        facts = self._tracker.follow(step)
        self._spans.take(facts, asked_by)
        self._metrics.take(step, facts)

    def commit(self) -> AbstractContextManager[None]:
        """Measures the commit in its `with` block."""
        return self._metrics.commit()

    def polling(self, idle_s: float, busy_s: float) -> None:
        """Add to the times inside poll() and between two polls. Raises nothing: an SDK that raises is not called again."""
        try:
            self._tell_polling(idle_s, busy_s)
        except Exception:
            self._tell_polling = _ignore_poll_times
            logger.exception("The OpenTelemetry SDK raised an exception; poll times are no longer recorded.")

    def end(self) -> None:
        """End the spans that are still open, because the membership thread has ended. Raises nothing, whatever the SDK does."""
        facts = self._tracker.give_up(self._backend.clock.now())
        try:
            self._spans.take(facts, None)
            self._metrics.count(facts)
        except Exception:
            logger.exception("The OpenTelemetry SDK raised an exception at the end of a membership.")


def _ignore_poll_times(_idle_s: float, _busy_s: float) -> None:
    """Takes the place of `Metrics.polling` after the SDK raised."""


# --- spans that triggered a rebalance --------------------------------------------------------------------------------


_MOST = 16
"""Most spans that are kept. The span of an event that changes nothing is never taken."""


class TriggeringSpans:
    """The spans that asked for events. `note` is for any thread and signal handlers: without a lock, each is one dict operation."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[Event, SpanContext]] = {}

    def note(self, event: Event) -> None:
        """Keep the calling thread's span for the event, which is posted afterwards."""
        asked_by = trace.get_current_span().get_span_context()
        if asked_by.is_valid:
            if len(self._noted) >= _MOST:
                self._noted.clear()
            # The event is kept beside its id, so that no other event can get the same id.
            self._noted[id(event)] = (event, asked_by)

    def take(self, event: Event) -> SpanContext | None:
        if not self._noted:
            return None
        noted = self._noted.pop(id(event), None)
        return noted[1] if noted is not None else None
