"""What the demonstration does with an epoch: the orders as they are, and the revenue of each customer."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, count, from_json
from pyspark.sql.functions import sum as total

from membership_client_spark.demo.orders import SCHEMA
from membership_client_spark.parquet.sink import ParquetSink
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.resuming import PipelineRun, Published


class OrdersSink:
    """The revenue of an epoch is replaced if the epoch is repeated; it counts as soon as the orders are published."""

    def __init__(self, directory: Path) -> None:
        self.orders = directory / "orders"
        self.revenue = directory / "revenue"
        self._published = ParquetSink(self.orders, transform=parsed)

    def resume(self, run: PipelineRun) -> Published:
        return self._published.resume(run)

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        revenue_of(parsed(df)).write.mode("overwrite").parquet(str(self.revenue / f"epoch={epoch_id}"))
        self._published(df, epoch_id, offset_ranges)


def parsed(df: DataFrame) -> DataFrame:
    order = from_json(col("value").cast("string"), SCHEMA).alias("order")
    return df.select("partition", "offset", order).select("partition", "offset", "order.*")


def revenue_of(orders: DataFrame) -> DataFrame:
    return orders.groupBy("customer").agg(count("*").alias("orders"), total("cents").alias("cents"))
