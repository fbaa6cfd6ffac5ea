"""Records as Spark's Python data sources take them: with exactly the types that Spark makes of the schema."""

from __future__ import annotations

import pyarrow as pa

from membership_client_spark import arrow

_HEADERS = pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))

_TYPES = {"headers": _HEADERS}
_COLUMNS = [pa.field(one.name, _TYPES.get(one.name, one.type)) for one in arrow.SCHEMA]


def columns(*, with_headers: bool) -> pa.Schema:
    """The schema of all batches, as Spark wants it: it compares names of list elements, and whether a column may be null."""
    return pa.schema(_COLUMNS if with_headers else _COLUMNS[:-1])


def ddl(*, with_headers: bool) -> str:
    """The same columns as a schema of Spark: those of its own Kafka source."""
    return arrow.ddl(columns(with_headers=with_headers).names)


def as_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the schema's types. Its columns have the same names, in the same order."""
    return pa.RecordBatch.from_arrays([batch[one.name].cast(one.type) for one in schema], schema=schema)
