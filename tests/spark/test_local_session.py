"""The Spark integration in daily use, on one local session: a slot job, a run of epochs, and the Parquet sink."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from membership_client_spark import ParquetSink, Slot, consume
from tests.integration.members import eventually
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage, numbers_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]


@pytest.fixture
def stage(kafka: KafkaCluster) -> Stage:
    return Stage(kafka.bootstrap_servers)


def writer(directory: Path) -> Callable[[pa.RecordBatch, Slot], None]:
    """A handler that appends what it gets to a file of its slot."""

    def handle(batch: pa.RecordBatch, slot: Slot) -> None:
        with (directory / slot.instance_id).open("a") as file:
            file.writelines(json.dumps(json.loads(value)["n"]) + "\n" for value in batch["value"].to_pylist())

    return handle


def test_a_slot_job_hands_out_every_record_and_commits(stage: Stage, spark: SparkSession, tmp_path: Path) -> None:
    """Two slots share the topic under their own instance ids, and leave nothing uncommitted when they are stopped."""

    def handled() -> Counter[int]:
        return Counter(int(line) for file in tmp_path.iterdir() for line in file.read_text().splitlines())

    job = consume(spark, slots=2, name="clerk", config=stage.config(), topics=[stage.topic], handle=writer(tmp_path))
    with job:
        eventually(lambda: [len(slot.partitions) for slot in job.progress()] == [2, 2], "two shares", PATIENCE_S)
        stage.fill(200)
        eventually(lambda: handled().total() >= stage.produced, "all records", PATIENCE_S)
    assert handled() == stage.all_numbers
    assert {file.name for file in tmp_path.iterdir()} == {"clerk-0", "clerk-1"}
    assert sum(stage.committed().values()) == stage.produced


def test_epochs_have_every_record_once_and_commit(stage: Stage, spark: SparkSession) -> None:
    """Three epochs of bounded size; a second run goes on where the first one ended."""
    seen = Collecting()
    stage.fill(200)
    stage.read_all(spark, seen, max_records=80)
    stage.fill(10)
    stage.read_all(spark, seen, max_records=80)
    assert seen.numbers == stage.all_numbers
    assert seen.ids == [1, 2, 3, 4]
    assert sum(stage.committed().values()) == stage.produced


def test_the_parquet_sink_has_every_record_once(stage: Stage, spark: SparkSession, tmp_path: Path) -> None:
    """As any reader of the directory sees it."""
    stage.fill(200)
    stage.read_all(spark, ParquetSink(tmp_path), max_records=120)
    rows = spark.read.parquet(str(tmp_path)).select("value", "epoch").collect()
    assert numbers_of(row.value for row in rows) == stage.all_numbers
    assert {row.epoch for row in rows} == {1, 2}
