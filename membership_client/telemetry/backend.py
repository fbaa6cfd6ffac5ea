"""What telemetry is made with: one for all members of a process, unless a test brings its own."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from opentelemetry import metrics, trace

from membership_client.telemetry import names
from membership_client.telemetry.instruments import Instruments
from membership_client.telemetry.switch import is_listening
from membership_client.trace.origin import origin


@dataclass(frozen=True, slots=True)
class Clock:
    """The member's monotonic clock, and how to make of it the nanoseconds since 1970 that spans have."""

    now: Callable[[], float]
    """Seconds, as in `Step.at`."""
    offset_ns: Callable[[], int]
    """By how much the wall clock is ahead of it at this moment."""


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
    """The application's providers, whether it sets them before or after."""
    version = str(origin()["client"])
    tracer, meter = trace.get_tracer(names.SCOPE, version), metrics.get_meter(names.SCOPE, version)
    return Backend(tracer, Instruments(meter), is_listening)
