"""The driver of the demonstration: a program as a user would write it, which also reports what happens."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, count_distinct, from_json, when
from pyspark.sql.functions import sum as total

from membership_client import WaitTimeoutError
from membership_client_spark.demo.driver_process import ALL_EXECUTORS, quick_properties
from membership_client_spark.demo.events import (
    AllRead,
    Counted,
    DriverReport,
    DriverTask,
    EpochBegan,
    EpochDone,
    SessionReady,
    SlotShare,
    decode_task,
    encode_report,
)
from membership_client_spark.demo.orders import SCHEMA, TOPIC
from membership_client_spark.epochs import Epochs, epochs
from membership_client_spark.parquet.sink import ParquetSink
from membership_client_spark.pipeline.interface import EpochsProgress, PipelineRun, Published
from membership_client_spark.pipeline.ranges import OffsetRange

GROUP = NAME = "orders-to-parquet"
SLOTS = 2
MASTER = "local-cluster[2,1,1024]"

_LOOK_S = 0.05

Say = Callable[[DriverReport], None]


def main() -> None:
    """The program; its one argument is the task, as JSON."""
    task = decode_task(sys.argv[1])
    say = _speech()
    threading.Thread(target=_end_with_the_demonstration, daemon=True).start()
    sink = OrdersSink(Path(task.directory))
    with _session(task) as spark:
        say(SessionReady(at=time.monotonic(), version=spark.version))
        with _pipeline(spark, sink, task) as pipeline:
            _follow(pipeline, say)
        say(AllRead(at=time.monotonic()))
        say(_count(spark, sink, task.records))


def _speech() -> Say:
    """Writes reports to standard output; what Spark prints goes to standard error instead."""
    words = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return lambda said: print(encode_report(said), file=words)


def _end_with_the_demonstration() -> None:
    """If the demonstration is killed, the input ends: then this process and its JVMs, in one process group, are killed."""
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


def _session(task: DriverTask) -> SparkSession:
    settings = quick_properties(task.python_path) | ALL_EXECUTORS
    return SparkSession.builder.appName(NAME).master(MASTER).config(map=dict(settings)).getOrCreate()


def _pipeline(spark: SparkSession, sink: OrdersSink, task: DriverTask) -> Epochs:
    return epochs(
        spark,
        sink,
        config={"bootstrap.servers": task.bootstrap_servers, "group.id": GROUP, "auto.offset.reset": "earliest"},
        topics=[TOPIC],
        name=NAME,
        slots=SLOTS,
        max_records=task.max_records,
        available_now=True,
    )


def _follow(pipeline: Epochs, say: Say) -> None:
    """Reports the beginning and the commit of each epoch, until the pipeline has ended."""
    reporter = _EpochReporter(say)
    while not _has_ended(pipeline):
        reporter.report(pipeline.progress())
    reporter.report(pipeline.progress())


class _EpochReporter:
    """Reports what is new in a pipeline's progress."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._committed = 0
        self._began = 0

    def report(self, progress: EpochsProgress) -> None:
        now, last, running = time.monotonic(), progress.last, progress.running
        if last is not None and last.epoch_id > self._committed:
            self._committed = last.epoch_id
            self._say(EpochDone(at=now, epoch=last.epoch_id, records=last.records, seconds=last.seconds))
        if running is not None and running > self._began:
            self._began = running
            self._say(EpochBegan(at=now, epoch=running, slots=_shares(progress)))


def _has_ended(pipeline: Epochs) -> bool:
    try:
        pipeline.wait(_LOOK_S)
    except WaitTimeoutError:
        return False
    return True


def _shares(progress: EpochsProgress) -> tuple[SlotShare, ...]:
    return tuple(
        SlotShare(slot.instance_id, tuple(sorted(place.partition for place in slot.partitions)))
        for slot in progress.slots
    )


def _count(spark: SparkSession, sink: OrdersSink, records: int) -> Counted:
    number = col("id")
    known = when((number >= 0) & (number < records), number)
    found = spark.read.parquet(str(sink.orders)).agg(count("*"), count_distinct(known)).first()
    revenue = spark.read.parquet(str(sink.revenue)).agg(total("cents")).first()
    assert found is not None
    assert revenue is not None
    return Counted(at=time.monotonic(), rows=found[0], distinct=found[1], revenue_cents=revenue[0] or 0)


# --- what it does with an epoch --------------------------------------------------------------------------------------


class OrdersSink:
    """Writes the orders of an epoch, and the revenue of each customer, which is replaced if the epoch is repeated."""

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


if __name__ == "__main__":
    main()
