"""Does the application have an OpenTelemetry SDK? Without an SDK a step must cost next to nothing."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry import metrics, trace

from membership_client.core.machine import Step
from membership_client.telemetry.phases import at_rest

_LOOK_EVERY_S = 30.0
"""A look takes as long as twenty steps."""


class Switch:
    """Off until the application has set a provider, then on for good. For the thread that owns the member."""

    def __init__(self, is_listening: Callable[[], bool]) -> None:
        self._is_listening = is_listening
        self._on = False
        self._look_at = float("-inf")

    def is_on(self, step: Step) -> bool:
        """Looks when a rebalance begins, and now and then; not in the middle of one, whose beginning would be missing."""
        if not self._on and (step.at >= self._look_at or step.after.state is not step.before.state):
            self._look(step)
        return self._on

    def _look(self, step: Step) -> None:
        if at_rest(step.before):
            self._look_at = step.at + _LOOK_EVERY_S
            self._on = self._is_listening()


def is_listening() -> bool:
    """Was a provider set that is not one of the API's own? The API's own are placeholders."""
    providers = (trace.get_tracer_provider(), metrics.get_meter_provider())
    return any(not type(provider).__module__.startswith(_STAND_INS) for provider in providers)


_STAND_INS = ("opentelemetry.trace", "opentelemetry.metrics")
