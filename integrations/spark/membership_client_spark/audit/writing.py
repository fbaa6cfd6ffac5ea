"""An audit on disk: a folder of Parquet for each table, and a page that sums them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.bars import strips
from membership_client_spark.audit.page import render
from membership_client_spark.audit.summary import AuditSummary, summarise
from membership_client_spark.audit.target import open_target
from membership_client_spark.audit.tops import tops

TABLES = ("files", "ownership", "overlaps", "gaps", "rebalances", "callbacks", "slots")


def write_all(spark: SparkSession, table: Callable[[str], DataFrame], path: str) -> AuditSummary:
    """What an earlier audit wrote there is replaced. The page is made of what was written, and written last."""
    target = open_target(spark, path)  # First: to make the tables may take an hour.
    for name in TABLES:
        table(name).write.mode("overwrite").parquet(f"{target.path}/{name}")
    written = {name: spark.read.parquet(f"{target.path}/{name}") for name in TABLES}
    summary = summarise(spark, written)
    target.write("index.html", _page(spark, written, summary).encode())
    return summary


def _page(spark: SparkSession, tables: Mapping[str, DataFrame], summary: AuditSummary) -> str:
    began, ended = summary.began or 0.0, summary.ended or 0.0
    return render(summary, strips(spark, tables, began, ended), list(tops(spark, tables)))
