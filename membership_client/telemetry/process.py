"""The tracer and the instruments that all members of a process share. Both wait for an SDK, if it comes later."""

from __future__ import annotations

import functools

from opentelemetry import metrics, trace

from membership_client.telemetry import names
from membership_client.telemetry.instruments import Instruments
from membership_client.trace.origin import origin


@functools.cache
def tracer() -> trace.Tracer:
    return trace.get_tracer(names.SCOPE, _version())


@functools.cache
def instruments() -> Instruments:
    return Instruments(metrics.get_meter(names.SCOPE, _version()))


def _version() -> str:
    return str(origin()["client"])
