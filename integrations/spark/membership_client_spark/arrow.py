"""Records as Arrow, with the column names and types of Spark's own Kafka source."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from confluent_kafka import Message

_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_MILLISECONDS = pa.timestamp("ms", tz="UTC")
_MICROSECONDS = pa.timestamp("us", tz="UTC")

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", _MICROSECONDS),
        pa.field("timestampType", pa.int32()),
        pa.field("headers", _HEADERS),
    ]
)

DDL = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)
"""The same columns as a schema of Spark."""


def record_batch(messages: Sequence[Message]) -> pa.RecordBatch:
    """One row per message, in order. The messages must be records: none of them has an error."""
    stamps = [message.timestamp() for message in messages]
    columns = [
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        pa.array([message.topic() for message in messages], pa.string()),
        pa.array([message.partition() for message in messages], pa.int32()),
        pa.array([message.offset() for message in messages], pa.int64()),
        pa.array([stamp if kind else None for kind, stamp in stamps], _MILLISECONDS).cast(_MICROSECONDS),
        # Kafka counts from creation = 0, librdkafka from not available = 0.
        pa.array([kind - 1 if kind else None for kind, _ in stamps], pa.int32()),
        _headers(messages),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _headers(messages: Sequence[Message]) -> pa.Array:
    found = [message.headers() for message in messages]
    # Most batches have no headers, and a list of empty lists costs as much as a list of values.
    return pa.array(found, _HEADERS) if any(found) else pa.nulls(len(found), _HEADERS)
