"""Records as Arrow, with the column names and types of Spark's own Kafka source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Message

_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
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

SPARK_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key: string, value: binary>>",
}
"""The same columns, with their types in Spark."""

COLUMNS = tuple(SPARK_TYPES)


def ddl(columns: Sequence[str]) -> str:
    """The schema of these columns in Spark."""
    return ", ".join(f"{name} {SPARK_TYPES[name]}" for name in columns)


def record_batch(
    messages: Sequence[Message], columns: Sequence[str] = COLUMNS, runs: Sequence[Run] = ()
) -> pa.RecordBatch:
    """One row per message, in order. The messages must be records: none of them has an error.

    `runs` are those of the messages; with them, topic, partition and offset cost next to nothing.
    """
    built = dict[str, pa.Array]()
    if {"timestamp", "timestampType"} & set(columns):
        built |= _timestamps(messages)
    if runs and len(runs) * _WORTH <= len(messages):
        built |= _places(runs, columns)
    arrays = [built[name] if name in built else _BUILDERS[name](messages) for name in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([SCHEMA.field(name) for name in columns]))


def _headers(messages: Sequence[Message]) -> pa.Array:
    found = [message.headers() for message in messages]
    # Most batches have no headers, and a list of empty lists costs as much as a list of values.
    return pa.array(found, _HEADERS) if any(found) else pa.nulls(len(found), _HEADERS)


_BUILDERS: dict[str, Callable[[Sequence[Any]], pa.Array]] = {
    "key": lambda messages: pa.array([message.key() for message in messages], pa.binary()),
    "value": lambda messages: pa.array([message.value() for message in messages], pa.binary()),
    "topic": lambda messages: pa.array([message.topic() for message in messages], pa.string()),
    "partition": lambda messages: pa.array([message.partition() for message in messages], pa.int32()),
    "offset": lambda messages: pa.array([message.offset() for message in messages], pa.int64()),
    "headers": _headers,
}


def _timestamps(messages: Sequence[Message]) -> dict[str, pa.Array]:
    stamps = [message.timestamp() for message in messages]
    kinds, milliseconds = [kind for kind, _ in stamps], pa.array([stamp for _, stamp in stamps], pa.int64())
    # Kafka counts from creation = 0, librdkafka from not available = 0.
    types = pc.subtract(_repeated(kinds), pa.scalar(1, pa.int32()))
    known = pc.greater_equal(types, 0)
    nothing, micros = pa.scalar(None, pa.int32()), pc.multiply(milliseconds, 1000).cast(_MICROSECONDS)
    return {
        "timestamp": pc.if_else(known, micros, pa.scalar(None, _MICROSECONDS)),
        "timestampType": pc.if_else(known, types, nothing),
    }


def _repeated(numbers: list[int]) -> pa.Array:
    """As an array; quick if all are the same, as those of a topic are."""
    if numbers and numbers.count(numbers[0]) == len(numbers):
        return pa.repeat(pa.scalar(numbers[0], pa.int32()), len(numbers))
    return pa.array(numbers, pa.int32())


# --- runs: what need not be asked of every single record -------------------------------------------------------------

_WORTH = 16
"""Arrays are put together from runs if these have this number of records on average, or more."""


class Run(NamedTuple):
    """Records of one partition that came one after the other."""

    topic: str
    partition: int
    first: int
    """The offset of the first of them."""
    last: int
    length: int

    @property
    def has_gaps(self) -> bool:
        return self.last - self.first >= self.length


def runs_of(messages: Sequence[Any], topic: str | None = None) -> list[Run]:
    """The messages as runs, in order. They are records, and offsets of a partition grow, as in the log.

    `topic` is that of all messages, if it is known.
    """
    ends = set(_changes([message.partition() for message in messages]))
    if topic is None:
        ends |= set(_changes([message.topic() for message in messages]))
    return [run_of(messages, begin, end) for begin, end in pairwise([0, *sorted(ends)])]


def run_of(messages: Sequence[Any], begin: int, end: int) -> Run:
    """These messages, which are of one partition."""
    first, last = messages[begin], messages[end - 1]
    return Run(first.topic(), first.partition(), first.offset(), last.offset(), end - begin)


def _changes(values: list[Any]) -> list[int]:
    """The indexes behind which there is another value, and the end."""
    return pc.run_end_encode(pa.array(values)).run_ends.to_pylist() if values else []


def _places(runs: Sequence[Run], columns: Sequence[str]) -> dict[str, pa.Array]:
    """Topic, partition and offset of all records of the runs, as far as they are asked for."""
    built = dict[str, pa.Array]()
    if "topic" in columns:
        built["topic"] = pa.concat_arrays([pa.repeat(pa.scalar(run.topic, pa.string()), run.length) for run in runs])
    if "partition" in columns:
        built["partition"] = pa.concat_arrays(
            [pa.repeat(pa.scalar(run.partition, pa.int32()), run.length) for run in runs]
        )
    if "offset" in columns and not any(run.has_gaps for run in runs):
        built["offset"] = pa.concat_arrays([_counted(run.first, run.length) for run in runs])
    return built


def _counted(start: int, count: int) -> pa.Array:
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count), start=start - 1)
