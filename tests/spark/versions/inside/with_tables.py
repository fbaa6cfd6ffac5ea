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


def settings() -> SessionSettings:
    """The jars are in $SPARK_TEST_JARS."""
    jars = os.environ["SPARK_TEST_JARS"]
    return sessions.local({"spark.jars": jars, **_FEW_ROWS, **(_DELTA if "delta-spark" in jars else {})})
