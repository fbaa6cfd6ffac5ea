"""How a slot is doing: counted for the driver, about once a second."""

from __future__ import annotations

import time
from typing import Any

import confluent_kafka

from membership_client import Consumer

_EVERY_S = 1.0


class Pace:
    """Belongs to the slot's thread."""

    def __init__(self) -> None:
        self._records = 0
        self._recent = 0
        self._since = time.monotonic()

    def count(self, records: int) -> None:
        self._records += records
        self._recent += records

    def is_due(self) -> bool:
        return time.monotonic() - self._since >= _EVERY_S

    def report(self, consumer: Consumer) -> dict[str, Any]:
        """Since the last one."""
        now = time.monotonic()
        rate = self._recent / (now - self._since)
        self._recent, self._since = 0, now
        snapshot = consumer.snapshot
        return {
            "state": snapshot.state.value,
            "partitions": sorted(map(str, snapshot.owned)),
            "records": self._records,
            "rate": round(rate, 1),
            "lag": _lag(consumer),
        }


def _lag(consumer: Consumer) -> int:
    """Of the partitions whose end librdkafka has seen; it asks nobody."""
    return sum(
        max(0, consumer.get_watermark_offsets(place, cached=True)[1] - place.offset)
        for place in consumer.position(consumer.assignment())
        if place.offset != confluent_kafka.OFFSET_INVALID
    )
