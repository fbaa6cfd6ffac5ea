"""Which storage a path asks for."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.hadoop import scheme_and_file, with_scheme
from membership_client_spark.parquet.hadoop_storage import HadoopStorage
from membership_client_spark.parquet.local_storage import LocalStorage
from membership_client_spark.parquet.storage import Storage
from membership_client_spark.spark_session import is_connect

_ATOMIC = frozenset({"hdfs", "viewfs"})
"""Where a rename is one step and fails if there is something of the new name."""


def open_storage(spark: SparkSession, path: str) -> Storage:
    """SparkSettingsError where publishing cannot be one step."""
    place = with_scheme(spark, path)
    scheme, file = scheme_and_file(place)
    if scheme == "file":
        return LocalStorage(Path(file))
    if scheme not in _ATOMIC:
        raise SparkSettingsError(
            f"{path}: {scheme} has no atomic rename, so ParquetSink could show an epoch twice or in part. "
            "Write to a table format with transactions, through a Resumable sink that stores the offset ranges with the rows."
        )
    if is_connect(spark):
        raise SparkSettingsError(
            f"{path}: over Spark Connect there is no way to {scheme}. Use a path that this process and the executors "
            "have mounted, or run the driver as a classic one."
        )
    return HadoopStorage(spark, place)


def _is_connect(spark: SparkSession) -> bool:
    return "connect" in type(spark).__module__


def _qualified(spark: SparkSession, path: str) -> str:
    """As Spark would read a path without a scheme; over Connect, where nobody can ask, it is a local one."""
    if is_connect(spark):
        return f"file://{Path(path).absolute()}"
    files = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]  # noqa: SLF001 - there is no other way to Hadoop
    configuration = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
    place = files.Path(str(path))
    qualified: str = place.getFileSystem(configuration).makeQualified(place).toString()
    return qualified
