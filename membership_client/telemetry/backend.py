"""What telemetry is made with: one for all members of a process, unless a test brings its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from opentelemetry import metrics, trace

from membership_client.telemetry import names
from membership_client.telemetry.clock import MONOTONIC, Clock
from membership_client.telemetry.instruments import Instruments
from membership_client.telemetry.switch import is_listening
from membership_client.trace.origin import origin


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
