"""The sinks that a campaign can play, and how their rows are read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from membership_client_spark import DeltaSink, OffsetRange, ParquetSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

APPEND_BY_MERGE = "MERGE INTO {table} t USING {rows} r ON false WHEN NOT MATCHED THEN INSERT *"
"""An upsert by key would hide what is written twice."""


def numbers(df: DataFrame) -> DataFrame:
    return df.selectExpr("CAST(get_json_object(CAST(value AS STRING), '$.n') AS BIGINT) AS n")


def plain_append(path: str) -> Callable[..., None]:
    """What people write who do not think of kills: the control, in which the judge must find doubles."""

    def write(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        numbers(df).write.format("delta").mode("append").save(path)

    return write


def from_delta(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.format("delta").load(path)


def from_parquet(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.parquet(path)


@dataclass(frozen=True, slots=True)
class PlayedSink:
    """Both functions take a path."""

    make: Callable[[str], Any]
    rows: Callable[[SparkSession, str], DataFrame] = from_delta
    needs_table: bool = False


SINKS = {
    "delta": PlayedSink(lambda path: DeltaSink(path, transform=numbers)),
    "delta-merge": PlayedSink(lambda path: DeltaSink(path, transform=numbers, merge=APPEND_BY_MERGE), needs_table=True),
    "parquet": PlayedSink(lambda path: ParquetSink(path, transform=numbers), from_parquet),
    "plain": PlayedSink(plain_append),
}
