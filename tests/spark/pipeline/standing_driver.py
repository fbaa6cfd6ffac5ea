"""The program of a driver that reads a topic into Parquet until it is ended, and follows commands.

`cancel` cancels Spark's jobs and submits the pipeline again, `scale N` gives it other slots.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from membership_client_spark import ParquetSink, epochs
from membership_client_spark.epochs import Epochs
from tests.spark.clusters.driving import say, session, task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Pass = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def main() -> None:
    given = task()
    with session() as spark:
        pipeline = start(spark, given)
        for line in sys.stdin:
            words = line.split()
            if words[0] == "scale":
                pipeline.scale(int(words[1]))
            else:
                spark.sparkContext.cancelAllJobs()
                pipeline.stop()
                pipeline = start(spark, given)


def start(spark: SparkSession, given: dict[str, Any]) -> Epochs:
    def held(df: DataFrame) -> DataFrame:
        return df.mapInArrow(holding(given["directory"]), df.schema)

    sink = ParquetSink(given["path"], transform=held)
    pipeline = epochs(spark, sink, config=given["config"], topics=[given["topic"]], name=given["topic"], slots=2)
    threading.Thread(target=tell_failure, args=(pipeline,), daemon=True).start()
    return pipeline


def holding(directory: str) -> Pass:
    """What a task does with its rows: after the first of them it waits while there is a file `hold`, and says who does."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            while Path(directory, "hold").exists():
                Path(directory, f"held-{os.getpid()}").touch()
                time.sleep(0.05)

    return run


def tell_failure(pipeline: Epochs) -> None:
    try:
        pipeline.wait()
    except Exception as error:  # noqa: BLE001 - whatever it is, the test is to know
        say("failed", error=str(error))


if __name__ == "__main__":
    main()
