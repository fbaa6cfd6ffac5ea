"""An audit on disk: a folder of Parquet for each table, and a page that sums them up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyarrow.fs import FileSystem
from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.audit.bars import strips
from membership_client_spark.audit.page import render
from membership_client_spark.audit.summary import AuditSummary, summarise
from membership_client_spark.audit.tops import tops


def write_all(spark: SparkSession, tables: Mapping[str, DataFrame], path: str) -> AuditSummary:
    """What an earlier audit wrote there is replaced. The page is made of what was written, and written last."""
    storage, folder = FileSystem.from_uri(path if "://" in path else Path(path).absolute().as_uri())
    for name, frame in tables.items():
        frame.write.mode("overwrite").parquet(f"{path}/{name}")
    written = {name: spark.read.parquet(f"{path}/{name}") for name in tables}
    summary = summarise(spark, written)
    with storage.open_output_stream(f"{folder}/index.html") as page:
        page.write(_page(spark, written, summary).encode())
    return summary


def _page(spark: SparkSession, tables: Mapping[str, DataFrame], summary: AuditSummary) -> str:
    began, ended = summary.began or 0.0, summary.ended or 0.0
    return render(summary, strips(spark, tables, began, ended), list(tops(spark, tables)))
