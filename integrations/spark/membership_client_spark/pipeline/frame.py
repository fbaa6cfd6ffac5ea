"""An epoch as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from membership_client_spark import arrow
from membership_client_spark.arrow import DDL
from membership_client_spark.pipeline import pending, ranges, reading
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.reading import read_ranges

# Tasks that only read are sent all they need: executors have confluent-kafka and no membership.
for _module in (arrow, pending, ranges, reading):
    cloudpickle.register_pickle_by_value(_module)  # type: ignore[no-untyped-call]


def epoch_frame(spark: SparkSession, tasks: Sequence[Sequence[OffsetRange]], readers: Mapping[str, Any]) -> DataFrame:
    """The records of the ranges, one task for each entry of `tasks`. Nothing is read before Spark evaluates it."""
    by_task, config = [tuple(task) for task in tasks], dict(readers)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_ranges(config, by_task[number])

    return spark.range(0, len(by_task), 1, len(by_task)).mapInArrow(read, DDL)
