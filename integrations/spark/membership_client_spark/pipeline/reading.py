"""Reads fixed offset ranges in a task: the same records however often it is done.

Sent to the executors, which do not need to have this module. Pickle cannot name librdkafka's classes, so they are only
used as attributes of theirs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import confluent_kafka
import pyarrow as pa

from membership_client_spark.pipeline.pending import Pending, RangeReadError
from membership_client_spark.pipeline.ranges import OffsetRange

_WAIT_S = 0.1
_FIRST_RECORDS = 100
_MOST_RECORDS = 20_000
_BATCH_BYTES = 8_000_000
"""About this much goes to Spark at a time: large enough to be quick, small enough for any executor."""


def read_ranges(
    config: Mapping[str, Any], ranges: Sequence[OffsetRange], *, patience_s: float = 60.0
) -> Iterator[pa.RecordBatch]:
    """All records of the ranges, each partition's in order. RangeReadError if none came for `patience_s`."""
    consumer = confluent_kafka.Consumer(dict(config))
    try:
        consumer.assign([confluent_kafka.TopicPartition(p.topic, p.partition, p.start) for p in ranges])
        yield from _batches(consumer, Pending(ranges), patience_s)
    finally:
        consumer.close()


def _batches(consumer: confluent_kafka.Consumer, pending: Pending, patience_s: float) -> Iterator[pa.RecordBatch]:
    size, heard_at = _FIRST_RECORDS, time.monotonic()
    while pending:
        batch = pending.take(consumer.consume(max(1, min(size, pending.offsets)), _WAIT_S))
        if batch.num_rows:
            size = max(1, min(_MOST_RECORDS, _BATCH_BYTES * batch.num_rows // max(1, batch.nbytes)))
            yield batch
        if finished := pending.finished():
            consumer.pause([confluent_kafka.TopicPartition(*place) for place in finished])
        if batch.num_rows or finished:
            heard_at = time.monotonic()
        elif time.monotonic() - heard_at > patience_s:
            raise RangeReadError(f"Nothing came for {patience_s:g} s of {pending}.")
