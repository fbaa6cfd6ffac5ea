"""An epoch as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.arrow import DDL
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.reading import read_ranges


def epoch_frame(spark: SparkSession, tasks: Sequence[Sequence[OffsetRange]], readers: Mapping[str, Any]) -> DataFrame:
    """The records of the ranges, one task for each entry of `tasks`. Nothing is read before Spark evaluates it."""
    ranges, config = [tuple(task) for task in tasks], dict(readers)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_ranges(config, ranges[number])

    return spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(read, DDL)
