"""Settings of a session with the jars of a sink."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.spark.clusters import sessions

if TYPE_CHECKING:
    from tests.spark.clusters.sessions import SessionSettings

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Tables of a few rows: by default Delta would read their logs in fifty tasks, and VACUUM would list files in 10,000.
    "spark.databricks.delta.snapshotPartitions": "1",
}

_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}

_CATALOG = "spark.sql.catalog.lake"


def settings() -> SessionSettings:
    """The jars are in $SPARK_TEST_JARS; the catalog `lake` of Iceberg is in the database $SPARK_TEST_DATABASE."""
    jars = os.environ["SPARK_TEST_JARS"]
    properties = {"spark.jars": jars, **_FEW_ROWS}
    if "delta-spark" in jars:
        properties |= _DELTA
    if "iceberg-spark" in jars:
        properties |= _iceberg(os.environ["SPARK_TEST_DATABASE"], os.environ["SPARK_TEST_WAREHOUSE"])
        # The catalog finds the driver of its database on the class path of the JVM only.
        properties["spark.driver.extraClassPath"] = jars.replace(",", os.pathsep)
    return sessions.local(properties)


def _iceberg(database: str, warehouse: str) -> dict[str, str]:
    return {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{_CATALOG}.type": "jdbc",
        f"{_CATALOG}.uri": database,
        f"{_CATALOG}.jdbc.schema-version": "V1",
        f"{_CATALOG}.warehouse": f"file://{warehouse}",
    }
