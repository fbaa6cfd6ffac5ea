"""The application's span in which it subscribed, unsubscribed or closed: the span of the rebalance links to it."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import SpanContext

from membership_client.core.events import Event

_MOST = 16
"""Spans kept at most. The span of an event that changes nothing is never taken."""


class TriggeringSpans:
    """`note` is for any thread and for signal handlers, so there is no lock: each call is one operation on a dict."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[Event, SpanContext]] = {}

    def note(self, event: Event) -> None:
        """Before the event is posted, on the thread that asks."""
        asked_by = trace.get_current_span().get_span_context()
        if asked_by.is_valid:
            if len(self._noted) >= _MOST:
                self._noted.clear()
            # The event is kept beside its id, so that no other can get the same one.
            self._noted[id(event)] = (event, asked_by)

    def take(self, event: Event) -> SpanContext | None:
        if not self._noted:
            return None
        noted = self._noted.pop(id(event), None)
        return noted[1] if noted is not None else None
