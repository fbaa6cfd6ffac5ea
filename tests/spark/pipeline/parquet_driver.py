"""A driver that reads a topic into Parquet and can be killed: classic, or a client of a Connect server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from membership_client_spark import epochs
from membership_client_spark.parquet.sink import ParquetSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Say = Callable[[str], None]

PROGRAM = Path(__file__)

FEW = 4
"""Records of an epoch: there is always another one to come when its driver is killed."""


def main() -> None:
    task = json.loads(sys.argv[1])
    if "remote" in task:
        from pyspark.sql.connect.session import SparkSession

        session: Any = SparkSession.builder.remote(task["remote"]).create()
        read(session, task, tell)
    else:
        from tests.spark.clusters import driving

        with driving.session() as spark:
            read(spark, driving.task(), driving.say)


def tell(kind: str) -> None:
    sys.stdout.write(json.dumps({"kind": kind}) + "\n")
    sys.stdout.flush()


def read(spark: SparkSession, task: dict[str, Any], say: Say) -> None:
    """All that is there; says "epoch" when one begins and "done" at the end."""

    def begin(df: DataFrame) -> DataFrame:
        say("epoch")
        return df

    sink = ParquetSink(task["path"], transform=begin)
    options = {"slots": 2, "name": task["topic"], "max_records": task["max_records"], "available_now": True}
    with epochs(spark, sink, config=task["config"], topics=[task["topic"]], **options) as pipeline:
        pipeline.wait()
    say("done")


if __name__ == "__main__":
    main()
