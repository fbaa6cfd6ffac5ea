"""The application's tracer and meter, and whether the application has an OpenTelemetry SDK."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from opentelemetry import metrics, trace

from membership_client.core.machine import Step
from membership_client.runtime.rebalance_tracker import at_rest
from membership_client.telemetry import names
from membership_client.telemetry.metrics import Instruments
from membership_client.trace.journal import origin


@dataclass(frozen=True, slots=True)
class Clock:
    """The member's monotonic clock, and its offset to the nanoseconds since 1970 that spans have."""

    now: Callable[[], float]
    """Seconds, as in `Step.at`."""
    offset_ns: Callable[[], int]
    """By how much the wall clock is ahead of the monotonic clock at this moment."""


MONOTONIC = Clock(time.monotonic, lambda: time.time_ns() - time.monotonic_ns())


def wall_ns(at: float, offset_ns: int) -> int:
    return round(at * 1e9) + offset_ns


@dataclass(frozen=True, slots=True)
class Backend:
    tracer: trace.Tracer
    instruments: Instruments
    is_listening: Callable[[], bool]
    clock: Clock = MONOTONIC


@functools.cache
def of_process() -> Backend:
    """The tracer and instruments of the application's providers, which it may set before or after this call."""
    version = str(origin()["client"])
    tracer, meter = trace.get_tracer(names.SCOPE, version), metrics.get_meter(names.SCOPE, version)
    return Backend(tracer, Instruments(meter), is_listening)


# --- does the application have an SDK? -------------------------------------------------------------------------------


_LOOK_EVERY_S = 30.0
"""A look for a provider takes as long as twenty steps."""


class Switch:
    """Off until the application has set a provider, then on for good. For the thread that owns the member."""

    def __init__(self, is_listening: Callable[[], bool]) -> None:
        self._is_listening = is_listening
        self._on = False
        self._look_at = float("-inf")

    def is_on(self, step: Step) -> bool:
        """Whether to record this step. Never turns on in the middle of a rebalance, whose beginning would be missing."""
        if not self._on and (step.at >= self._look_at or step.after.state is not step.before.state):
            self._look(step)
        return self._on

    def _look(self, step: Step) -> None:
        if at_rest(step.before):
            self._look_at = step.at + _LOOK_EVERY_S
            self._on = self._is_listening()


def is_listening() -> bool:
    """Whether a provider was set: those of the API itself are placeholders."""
    providers = (trace.get_tracer_provider(), metrics.get_meter_provider())
    return any(not type(provider).__module__.startswith(_STAND_INS) for provider in providers)


_STAND_INS = ("opentelemetry.trace", "opentelemetry.metrics")
