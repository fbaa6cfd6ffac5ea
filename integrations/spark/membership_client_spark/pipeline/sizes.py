"""How large records are, by looking at a few: nothing else tells before they are read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

from membership_client_spark.pipeline.ranges import OffsetRange

_PLACES = 4
_RECORDS = 200
_WAIT_S = 1.0
_PATIENCE_S = 15.0
"""For the first answer: a connection may have to be made and a token to be had."""


class SizeSampler:
    """Belongs to one thread; keeps a reader on the driver."""

    def __init__(self, readers: Mapping[str, Any]) -> None:
        self._consumer = Consumer({**readers, "fetch.message.max.bytes": 65_536, "log_level": 0})

    def average(self, ranges: Sequence[OffsetRange]) -> float | None:
        """Bytes of key and value of the first records of the longest ranges; None if none came, or there are none."""
        longest = sorted(ranges, key=lambda piece: piece.start - piece.end)[:_PLACES]
        self._consumer.assign([TopicPartition(piece.topic, piece.partition, piece.start) for piece in longest])
        try:
            seen = self._first(min(_RECORDS, sum(p.end - p.start for p in longest)))
        finally:
            self._consumer.unassign()
        sizes = [_size(message) for message in seen if message.error() is None]
        return max(1.0, sum(sizes) / len(sizes)) if sizes else None

    def _first(self, count: int) -> list[Message]:
        """What comes soon after the first of them; the end of a partition is a message too."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while not (seen := self._consumer.consume(count, _WAIT_S)) and time.monotonic() < give_up_at:
            pass
        return seen

    def close(self) -> None:
        self._consumer.close()


def _size(message: Message) -> int:
    return len(message.key() or b"") + len(message.value() or b"")
