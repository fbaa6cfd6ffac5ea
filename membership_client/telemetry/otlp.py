"""Encodes metrics as OpenTelemetry's MetricsData in protobuf, the format that brokers accept (KIP-714)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from membership_client.values import dataclass

_LENGTH_DELIMITED = 2
_FIXED64 = 1
_VARINT = 0

_DELTA = 1
_CUMULATIVE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number with its name: a sum that only grows, or a gauge."""

    name: str
    value: float
    sum_since_ns: int | None = None
    """The time since which a sum counts, in nanoseconds since 1970. None for a gauge."""


def metrics_data(
    metrics: Iterable[Metric], *, resource: Mapping[str, str], scope: str, now_ns: int, delta: bool
) -> bytes:
    """All metrics as one MetricsData of OTLP v1, with this resource and this scope."""
    attributes = b"".join(_message(1, _attribute(key, value)) for key, value in resource.items())
    written = b"".join(_message(2, _metric(metric, now_ns, delta=delta)) for metric in metrics)
    scope_metrics = _message(1, _text(1, scope)) + written
    return _message(1, _message(1, attributes) + _message(2, scope_metrics))


def _metric(metric: Metric, now_ns: int, *, delta: bool) -> bytes:
    if metric.sum_since_ns is None:
        return _text(1, metric.name) + _message(5, _message(1, _point(metric, now_ns)))
    temporality = _number(2, _DELTA if delta else _CUMULATIVE)
    monotonic = _number(3, 1)
    return _text(1, metric.name) + _message(7, _message(1, _point(metric, now_ns)) + temporality + monotonic)


def _point(metric: Metric, now_ns: int) -> bytes:
    since = b"" if metric.sum_since_ns is None else _tag(2, _FIXED64) + struct.pack("<Q", metric.sum_since_ns)
    value = _tag(4, _FIXED64) + struct.pack("<d", metric.value)
    return since + _tag(3, _FIXED64) + struct.pack("<Q", now_ns) + value


def _attribute(key: str, value: str) -> bytes:
    return _text(1, key) + _message(2, _text(1, value))


# --- fields of protobuf ----------------------------------------------------------------------------------------------


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode(errors="replace"))


def _message(field: int, content: bytes) -> bytes:
    return _tag(field, _LENGTH_DELIMITED) + _varint(len(content)) + content


def _number(field: int, number: int) -> bytes:
    return _tag(field, _VARINT) + _varint(number)


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)
