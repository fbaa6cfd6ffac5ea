"""Reads OpenTelemetry's MetricsData as a broker's receiver does, by the field numbers of its protobuf files."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """The content of one push."""

    resource: dict[str, str]
    gauges: dict[str, float]
    sums: dict[str, float]
    temporality: set[int]
    """Of its sums: 1 delta, 2 cumulative."""
    times: set[tuple[int, int]]
    """Of each sum: since when, until when."""

    @property
    def names(self) -> set[str]:
        return self.gauges.keys() | self.sums.keys()


def read_metrics(data: bytes) -> Told:
    """One resource and one scope, as members write them."""
    told = Told({}, {}, {}, set(), set())
    resource_metrics = _one(data, 1)
    for attribute in _all(_one(resource_metrics, 1), 1):
        told.resource[_one(attribute, 1).decode()] = _one(_one(attribute, 2), 1).decode()
    for metric in _all(_one(resource_metrics, 2), 2):
        name = _one(metric, 1).decode()
        for gauge in _all(metric, 5):
            told.gauges[name] = _double(_one(_one(gauge, 1), 4))
        for total in _all(metric, 7):
            point = _one(total, 1)
            assert _number(total, 3) == 1, "it only grows"
            told.sums[name] = _double(_one(point, 4))
            told.temporality.add(_number(total, 2))
            told.times.add((_fixed(_one(point, 2)), _fixed(_one(point, 3))))
    return told


def _all(data: bytes, field: int) -> list[bytes]:
    return [value for number, value in _fields(data) if number == field and isinstance(value, bytes)]


def _one(data: bytes, field: int) -> bytes:
    (value,) = _all(data, field)
    return value


def _number(data: bytes, field: int) -> int:
    (value,) = [value for number, value in _fields(data) if number == field and isinstance(value, int)]
    return value


def _double(octets: bytes) -> float:
    (value,) = struct.unpack("<d", octets)
    return float(value)


def _fixed(octets: bytes) -> int:
    (value,) = struct.unpack("<Q", octets)
    return int(value)


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        field, kind = tag >> 3, tag & 7
        if kind == 0:
            number, at = _varint(data, at)
            yield field, number
        else:
            length, at = (8, at) if kind == 1 else _varint(data, at)
            assert len(data) >= at + length, "it is cut off"
            yield field, data[at : at + length]
            at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return number, at
