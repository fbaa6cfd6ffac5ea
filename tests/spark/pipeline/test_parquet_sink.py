"""ParquetSink: what was read is what is there, each record once, whatever happens in between."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client import FencedInstanceIdError
from membership_client.testing import KafkaCluster
from membership_client_spark import SparkSettingsError, SupersededError
from membership_client_spark.errors import EpochTakenError, ForeignSinkError
from membership_client_spark.parquet.sink import ParquetSink
from membership_client_spark.parquet.storage import HadoopStorage, LocalStorage
from membership_client_spark.pipeline.interface import PipelineRun, Published
from membership_client_spark.pipeline.manifest import new_attempt
from membership_client_spark.pipeline.ranges import OffsetRange
from tests.integration.members import eventually
from tests.spark.pipeline.sink_scenes import ENDS, RANGES, replaced
from tests.spark.pipeline.stage import PATIENCE_S, Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from membership_client_spark.parquet.storage import Storage

pytestmark = pytest.mark.deep


class CrashingSink(ParquetSink):
    """Publishes its second epoch, and fails before the pipeline learns of it."""

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        super().__call__(df, epoch_id, offset_ranges)
        if epoch_id == 2:
            raise OSError("the driver's host is lost")


@pytest.mark.kafka
def test_what_was_published_and_not_committed_is_not_read_again(
    kafka: KafkaCluster, spark: SparkSession, tmp_path: Path
) -> None:
    """A driver that ends between the two leaves the sink ahead of the group, and the sink is believed."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(60)
    with stage.run(spark, CrashingSink(tmp_path), max_records=20) as pipeline, pytest.raises(OSError, match="host"):
        pipeline.wait(PATIENCE_S)
    assert sum(stage.committed().values()) == 20
    stage.read_all(spark, ParquetSink(tmp_path))
    assert stage.numbers_in(spark, tmp_path) == stage.all_numbers
    assert {row.epoch for row in spark.read.parquet(str(tmp_path)).select("epoch").distinct().collect()} == {1, 2, 3}


@pytest.mark.kafka
def test_rows_are_transformed_and_laid_out_as_asked(kafka: KafkaCluster, spark: SparkSession, tmp_path: Path) -> None:
    """The transform sees the records; directories within an epoch are made by columns of what it returns."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(20)
    sink = ParquetSink(
        tmp_path,
        transform=lambda df: df.selectExpr("value", "partition % 2 AS parity").where("parity = 1"),
        partition_by=["parity"],
    )
    stage.read_all(spark, sink)
    assert stage.numbers_in(spark, tmp_path) == Counter(number for number in range(20) if number % 2)
    assert list(tmp_path.glob("epoch=*/parity=1/*.parquet"))


@pytest.mark.kafka
def test_of_two_drivers_the_older_one_loses(kafka: KafkaCluster, spark: SparkSession, tmp_path: Path) -> None:
    """It publishes nothing after the newer one has started, and each record is there once."""
    stage, paused, go_on = Stage(kafka.bootstrap_servers), threading.Event(), threading.Event()
    stage.fill(60)

    def dawdle(df: DataFrame) -> DataFrame:
        paused.set()
        assert go_on.wait(PATIENCE_S)
        return df

    with stage.run(spark, ParquetSink(tmp_path, transform=dawdle)) as older:
        assert paused.wait(PATIENCE_S)
        with stage.run(spark, ParquetSink(tmp_path), max_records=20) as newer:
            eventually(lambda: newer.progress().epochs, "the newer one has published", PATIENCE_S)
            go_on.set()
            with pytest.raises((SupersededError, FencedInstanceIdError)):
                older.wait(PATIENCE_S)
            eventually(lambda: newer.progress().records == 60, "the newer one goes on", PATIENCE_S)
    assert stage.numbers_in(spark, tmp_path) == stage.all_numbers


@pytest.mark.kafka
def test_an_older_driver_that_is_quicker_costs_nothing(
    kafka: KafkaCluster, spark: SparkSession, tmp_path: Path
) -> None:
    """When it publishes its last epoch while the newer one writes the same, the newer one goes on after that."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(60)

    def overtaken(df: DataFrame) -> DataFrame:
        if not (tmp_path / "epoch=000000000001").exists():
            old = ParquetSink(tmp_path)
            old.resume(PipelineRun(spark, stage.topic, lambda: None))
            old(df.where("partition = 0"), 1, (OffsetRange(stage.topic, 0, 0, 15),))
        return df

    stage.read_all(spark, ParquetSink(tmp_path, transform=overtaken))
    assert stage.numbers_in(spark, tmp_path) == stage.all_numbers
    assert len(list(tmp_path.glob("epoch=*"))) == 2


def test_a_repeated_epoch_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """With the same ranges it is recognised, with others it is refused; attempts are never seen, and cleaned later."""
    rows = spark.range(3)
    first, second = ParquetSink(tmp_path), ParquetSink(tmp_path)
    run = PipelineRun(spark, "g", lambda: None)
    assert first.resume(run) == Published(0, {})
    first(rows, 7, RANGES)
    first(rows, 7, RANGES)
    with pytest.raises(EpochTakenError, match="has epoch 7 already"):
        first(rows, 7, RANGES[:1])
    crashed, strange = new_attempt(8, "g"), "8-crashed"
    for name in (crashed, strange):
        (tmp_path / "_attempts" / name).mkdir()
    assert spark.read.parquet(str(tmp_path)).count() == 3
    assert second.resume(run) == Published(7, ENDS)
    assert [attempt.name for attempt in (tmp_path / "_attempts").iterdir()] == [strange]


def test_a_driver_that_was_replaced_while_it_wrote_publishes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """It is asked for right before the step that cannot be taken back."""
    sink = ParquetSink(tmp_path)
    sink.resume(PipelineRun(spark, "g", replaced))
    with pytest.raises(SupersededError):
        sink(spark.range(3), 1, RANGES)
    assert not list(tmp_path.glob("epoch=*"))


def test_one_path_belongs_to_one_group(spark: SparkSession, tmp_path: Path) -> None:
    """The offsets of another group would make records disappear; and what its drivers are writing stays.

    It used to be deleted before anybody looked whose it was.
    """
    sink = ParquetSink(tmp_path)
    sink.resume(PipelineRun(spark, "g", lambda: None))
    under_way = tmp_path / "_attempts" / new_attempt(1, "g")
    under_way.mkdir()
    foreign = ParquetSink(tmp_path)
    foreign.resume(PipelineRun(spark, "h", lambda: None))
    sink(spark.range(1), 1, RANGES)
    with pytest.raises(ForeignSinkError, match="epochs of group g; this is h"):
        foreign(spark.range(1), 1, RANGES)
    with pytest.raises(ForeignSinkError, match="epochs of group g; this is h"):
        ParquetSink(tmp_path).resume(PipelineRun(spark, "h", lambda: None))
    assert under_way.exists()


def test_where_there_is_no_atomic_rename_there_is_no_sink(spark: SparkSession) -> None:
    """An object store is refused before anything is read."""
    with pytest.raises(SparkSettingsError, match="s3a has no atomic rename"):
        ParquetSink("s3a://bucket/orders").resume(PipelineRun(spark, "g", lambda: None))


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_publishing_is_one_exclusive_step(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    """Of two attempts at one epoch the first one stays, on both kinds of file systems; Hadoop's runs on local files here."""
    root = tmp_path / "a sink"
    root.mkdir()
    storage: Storage = LocalStorage(root) if kind == "local" else HadoopStorage(spark, f"file://{root}")
    first, second, another = new_attempt(4, "g"), new_attempt(4, "g"), new_attempt(4, "h")
    for attempt in (first, second, another):
        spark.range(2).write.parquet(storage.place_for(attempt))
    assert storage.manifest(4) is None
    assert storage.publish(first, 4, "first")
    assert not storage.publish(second, 4, "second")
    assert (storage.manifest(4), storage.epochs()) == ("first", [4])
    storage.clean("g")
    assert [attempt.name for attempt in (root / "_attempts").iterdir()] == [another]
    assert spark.read.parquet(str(root)).count() == 2
