"""A driver whose JVM loads the classes of drivers, Masters, Workers and executors, and writes them to a given file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.spark.clusters import sessions

if TYPE_CHECKING:
    from tests.spark.clusters.sessions import SessionSettings

_LONGEST_S = 200.0


def main(archive: str) -> None:
    # In local mode tasks run in the driver's JVM, and leave there what they load on an executor.
    for settings in (sessions.local_cluster(), sessions.local()):
        work(settings, f"-XX:ArchiveClassesAtExit={archive}")
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_LONGEST_S)


def work(settings: SessionSettings, option: str) -> None:
    """A little of what the tests do; the option counts for the first session, which starts the JVM."""
    options = f"{settings.properties['spark.driver.extraJavaOptions']} {option}"
    builder = SparkSession.builder.master(settings.master).config(map=dict(settings.properties))
    spark = builder.config("spark.driver.extraJavaOptions", options).getOrCreate()
    rows = spark.range(0, 10, 1, 2).mapInArrow(_same, "id long")
    rows.createOrReplaceTempView("rows")
    spark.sql("SELECT id % 3 AS third, count(*) AS many FROM rows GROUP BY 1 ORDER BY 2").collect()
    spark.stop()


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


if __name__ == "__main__":
    main(sys.argv[1])
