"""Both readers of epochs: the same rows, in plans that Spark takes for large, in as many tasks as wanted."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from membership_client import ConfigError
from membership_client.testing import KafkaCluster
from membership_client_spark import OffsetRange
from membership_client_spark.arrow import COLUMNS
from membership_client_spark.pipeline.reader import ReadSettings, reader_of
from membership_client_spark.pipeline.settings import settings_of
from tests.security.secure_kafka import SCRAM_PASSWORD, SecureKafka
from tests.spark.pipeline.cleaning import delete_before
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300), pytest.mark.deep]

BOTH = pytest.mark.parametrize("reader", ["spark", "python"])


def frame(
    spark: SparkSession,
    reader: str,
    config: dict[str, Any],
    *ranges: OffsetRange,
    columns: tuple[str, ...] = COLUMNS,
    tasks: int | None = None,
) -> DataFrame:
    """What a pipeline gives to its function."""
    chosen = reader_of(reader, spark, settings_of(config).readers, ReadSettings(columns=columns, tasks=tasks), "test")
    return chosen.frame(ranges, 1)


def test_both_readers_give_the_same_rows_and_the_same_schema(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Headers, nulls, times, and a range that ends in the markers of an aborted transaction."""
    stage = Stage(kafka.bootstrap_servers, partitions=2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": stage.topic})
    producer.init_transactions()
    for outcome in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for partition in range(2):
            now = int(time.time() * 1000)
            producer.produce(stage.topic, b"v", b"k", partition, timestamp=now, headers=[("h", b"1"), ("h", None)])
            producer.produce(stage.topic, None, None, partition, timestamp=now + 1)
            producer.produce(stage.topic, b"", b"", partition, headers=[])
        assert producer.flush(30) == 0  # Else those that are aborted would never be sent.
        outcome()
    ranges = [OffsetRange(stage.topic, 0, 0, 8), OffsetRange(stage.topic, 1, 1, 8)]
    ours, theirs = (frame(spark, reader, stage.config(), *ranges) for reader in ("python", "spark"))
    assert ours.schema == theirs.schema
    rows = theirs.orderBy("partition", "offset").collect()
    assert [(row.partition, row.offset) for row in rows] == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    assert ours.orderBy("partition", "offset").collect() == rows
    uncommitted = stage.config(isolation_level="read_uncommitted")
    assert {frame(spark, reader, uncommitted, *ranges).count() for reader in ("python", "spark")} == {11}


@BOTH
def test_only_the_columns_that_are_asked_for(kafka: KafkaCluster, spark: SparkSession, reader: str) -> None:
    """In the order in which they are asked for."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    stage.fill(3)
    piece = OffsetRange(stage.topic, 0, 0, 3)
    found = frame(spark, reader, stage.config(), piece, columns=("offset", "value"))
    assert found.columns == ["offset", "value"]
    assert [(row.offset, bytes(row.value)) for row in found.collect()] == [
        (number, f'{{"n": {number:7}}}'.encode()) for number in range(3)
    ]


@BOTH
def test_a_range_may_be_read_by_several_tasks(kafka: KafkaCluster, spark: SparkSession, reader: str) -> None:
    """One slot with one partition took one core, whatever the cluster had."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    stage.fill(100)
    rows = frame(spark, reader, stage.config(), OffsetRange(stage.topic, 0, 0, 100), tasks=4)
    assert rows.rdd.getNumPartitions() == 4
    assert sorted(row.offset for row in rows.select("offset").collect()) == list(range(100))


@BOTH
def test_an_epoch_is_not_taken_for_tiny_in_a_join(kafka: KafkaCluster, spark: SparkSession, reader: str) -> None:
    """Spark knew that a range of two numbers stood behind it, and sent all records of the epoch to each executor."""
    stage = Stage(kafka.bootstrap_servers, partitions=2)
    ranges = [OffsetRange(stage.topic, number, 0, 10_000_000) for number in range(2)]
    large = spark.range(10**9).withColumnRenamed("id", "offset")
    joined = frame(spark, reader, stage.config(), *ranges).join(large, "offset")
    plan = joined._jdf.queryExecution().executedPlan().toString()
    assert "SortMergeJoin" in plan
    assert "Broadcast" not in plan


@BOTH
def test_a_pipeline_does_all_with_it(kafka: KafkaCluster, spark: SparkSession, reader: str) -> None:
    """Several epochs, each committed; records that were deleted during an epoch are its error, and are not left out."""
    stage, seen = Stage(kafka.bootstrap_servers, partitions=2), Collecting()
    stage.fill(100)
    stage.read_all(spark, seen, reader=reader, max_records=40)
    assert seen.numbers == stage.all_numbers
    assert seen.ids == [1, 2, 3]
    assert sum(stage.committed().values()) == 100

    def lose(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        delete_before(stage, 60)
        seen(df, epoch_id, offset_ranges)

    stage.fill(50)
    with stage.run(spark, lose, reader=reader) as pipeline, pytest.raises(Exception, match=r"(?s)\S") as raised:
        pipeline.wait(PATIENCE_S)
    assert "This was epoch 4" in "".join(raised.value.__notes__)
    assert sum(stage.committed().values()) == 100


@pytest.mark.parametrize("way", ["certificate", "scram-256", "plain-in-the-clear", "key-store"])
def test_sparks_source_gets_in_and_no_plan_or_log_shows_a_secret(
    secured: SecureKafka,
    spark: SparkSession,
    way: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """By certificate or password, translated for Java; the log says which reader it is."""
    caplog.set_level(logging.DEBUG)
    topic = secured.new_topic()
    producer = Producer({"bootstrap.servers": secured.cluster.bootstrap_servers})
    for number in range(20):
        producer.produce(topic, str(number), partition=number % 2)
    producer.flush()
    config = {**secured.ways_in("http://127.0.0.1:1")[way], "group.id": topic}
    rows = frame(spark, "auto", config, OffsetRange(topic, 0, 0, 10), OffsetRange(topic, 1, 0, 10))
    assert "Spark's own Kafka source" in caplog.text
    assert sorted(int(row.value) for row in rows.select("value").collect()) == list(range(20))
    shown = rows._jdf.queryExecution().toString()
    rows.explain("formatted")
    shown += caplog.text + "".join(capfd.readouterr())
    for secret in (SCRAM_PASSWORD, "plain-password", "store-password", "PRIVATE KEY"):
        assert secret not in shown


@pytest.mark.parametrize("way", ["locked-key", "token"])
def test_what_java_cannot_do_is_read_by_python(
    secured: SecureKafka, spark: SparkSession, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """`auto` says so in the log, `spark` refuses."""
    caplog.set_level(logging.INFO, "membership_client_spark")
    config = {**secured.ways_in("http://127.0.0.1:1")[way], "group.id": "g"}
    reading = ReadSettings(columns=COLUMNS, tasks=None)
    assert reader_of("auto", spark, config, reading, "test").uses_python
    assert "are read by Python workers" in caplog.text
    with pytest.raises(ConfigError, match="Spark's own Kafka source cannot be used"):
        reader_of("spark", spark, config, reading, "test")
