"""Settings of a session with the jars of a sink."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from membership_client.testing.jars import cache_directory
from tests.spark.clusters import sessions

if TYPE_CHECKING:
    from tests.spark.clusters.sessions import SessionSettings

_DELTA = {
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
    """The jars are in $SPARK_TEST_JARS, or Spark fetches them as $SPARK_TEST_PACKAGES.

    The catalog `lake` of Iceberg is in the database $SPARK_TEST_DATABASE.
    """
    jars, packages = os.environ["SPARK_TEST_JARS"], os.environ.get("SPARK_TEST_PACKAGES", "")
    properties = {"spark.jars": jars, **_FEW_ROWS}
    if packages:
        properties |= {"spark.jars.packages": packages, "spark.jars.ivy": str(cache_directory() / "ivy")}
        properties["spark.jars.excludes"] = (
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13"  # It is in the jars.
        )
    extensions = []
    if "delta-spark" in jars + packages:
        properties |= _DELTA
        extensions.append("io.delta.sql.DeltaSparkSessionExtension")
    if "iceberg-spark" in jars + packages:
        properties |= _iceberg(os.environ["SPARK_TEST_DATABASE"], os.environ["SPARK_TEST_WAREHOUSE"])
        extensions.append("org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        # The catalog finds the driver of its database on the class path of the JVM only.
        drivers = [jar for jar in jars.split(",") if "postgresql" in jar]
        properties["spark.driver.extraClassPath"] = os.pathsep.join(drivers)
    return sessions.local(properties | {"spark.sql.extensions": ",".join(extensions)})


def _iceberg(database: str, warehouse: str) -> dict[str, str]:
    return {
        _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{_CATALOG}.type": "jdbc",
        f"{_CATALOG}.uri": database,
        f"{_CATALOG}.jdbc.schema-version": "V1",
        f"{_CATALOG}.warehouse": f"file://{warehouse}",
    }
