"""The sinks that a campaign can play, the places that they need, and how their rows are read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from membership_client_spark import DeltaSink, IcebergSink, OffsetRange, ParquetSink, PostgresSink
from tests.spark.versions.other_pyspark import DELTA, ICEBERG, POSTGRES, OtherPyspark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

APPEND_BY_MERGE = "MERGE INTO {table} t USING {rows} r ON false WHEN NOT MATCHED THEN INSERT *"
"""An upsert by key would hide what is written twice."""

INSERT_BY_MERGE = "MERGE INTO {table} t USING {rows} r ON false WHEN NOT MATCHED THEN INSERT (n) VALUES (r.n)"

JDBC = {"driver": "org.postgresql.Driver"}
"""Spark finds the driver of a URL only on the class path of the JVM, and not among the application's jars."""


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


def from_postgres(spark: SparkSession, url: str) -> DataFrame:
    return spark.read.jdbc(url, "numbers", properties=JDBC)


def empty_delta_table(spark: SparkSession, path: str) -> None:
    spark.sql("SELECT 0L AS n WHERE false").write.format("delta").save(path)


def empty_postgres_table(spark: SparkSession, url: str) -> None:
    """Without a key, which would hide what is written twice."""
    spark.sql("SELECT 0L AS n WHERE false").write.jdbc(url, "numbers", properties=JDBC)


def from_iceberg(spark: SparkSession, table: str) -> DataFrame:
    """As it is now: the catalog of a session has a cache."""
    spark.sql(f"REFRESH TABLE {table}")
    return spark.table(table)


def empty_iceberg_table(spark: SparkSession, table: str) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
    spark.sql(f"CREATE TABLE {table} (n BIGINT) USING iceberg")


def nothing(spark: SparkSession, place: str) -> None:
    """The sink makes the place."""


@dataclass(frozen=True, slots=True)
class PlayedSink:
    """All functions take a place: a path, the URL of a database, or the name of a table."""

    make: Callable[[str], Any]
    rows: Callable[[SparkSession, str], DataFrame] = from_delta
    create: Callable[[SparkSession, str], None] = nothing
    has_written: bool = True
    """Whether it has the point of that name."""
    needs: str = "delta"
    """What scripts/provide.py brings."""
    pyspark: OtherPyspark = DELTA


SINKS = {
    "delta": PlayedSink(lambda path: DeltaSink(path, transform=numbers)),
    "delta-merge": PlayedSink(
        lambda path: DeltaSink(path, transform=numbers, merge=APPEND_BY_MERGE), create=empty_delta_table
    ),
    "parquet": PlayedSink(lambda path: ParquetSink(path, transform=numbers), from_parquet, has_written=False),
    "postgres": PlayedSink(
        lambda url: PostgresSink(url, "numbers", transform=numbers),
        from_postgres,
        empty_postgres_table,
        needs="postgres",
        pyspark=POSTGRES,
    ),
    "postgres-merge": PlayedSink(
        lambda url: PostgresSink(url, "numbers", transform=numbers, merge=INSERT_BY_MERGE),
        from_postgres,
        empty_postgres_table,
        needs="postgres",
        pyspark=POSTGRES,
    ),
    "iceberg": PlayedSink(
        lambda table: IcebergSink(table, transform=numbers),
        from_iceberg,
        empty_iceberg_table,
        needs="iceberg",
        pyspark=ICEBERG,
    ),
    "iceberg-merge": PlayedSink(
        lambda table: IcebergSink(table, transform=numbers, merge=APPEND_BY_MERGE),
        from_iceberg,
        empty_iceberg_table,
        needs="iceberg",
        pyspark=ICEBERG,
    ),
    # Two drivers that make the table at the same time fail, which is not what the control is about.
    "plain": PlayedSink(plain_append, create=empty_delta_table, has_written=False),
}
