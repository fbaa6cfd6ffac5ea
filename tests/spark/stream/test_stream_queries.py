"""Queries over `kafka-group`: triggers, columns, progress, and errors on the driver."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from membership_client.testing import KafkaCluster
from tests.integration.members import eventually
from tests.spark.pipeline.stage import PATIENCE_S, Stage
from tests.spark.stream.queries import Batches, await_all_away, lag, members, stream, stream_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900), pytest.mark.deep]


def test_the_columns_are_those_of_sparks_own_source(kafka: KafkaCluster, spark: SparkSession, tmp_path: Path) -> None:
    """Key, value, timestamp and headers arrive as they were produced, absent ones as null; headers on request."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    now_ms = int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(stage.topic, b"v", b"k", timestamp=now_ms, headers=[("h", b"1"), ("h", None)])
    producer.produce(stage.topic, None, None, timestamp=now_ms + 1)
    producer.flush()
    seen: list[Any] = []
    frame = stream(spark, stage, includeHeaders="true")
    query = (
        frame.selectExpr("*", "unix_millis(timestamp) AS ms")
        .writeStream.foreachBatch(lambda df, _: seen.extend(df.orderBy("offset").collect()))
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(int(PATIENCE_S))
    first, second = ({**row.asDict(recursive=True), "timestamp": None} for row in seen)
    same = {"topic": stage.topic, "partition": 0, "timestamp": None, "timestampType": 0}
    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert first == same | {"key": b"k", "value": b"v", "offset": 0, "ms": now_ms, "headers": headers}
    assert second == same | {"key": None, "value": None, "offset": 1, "ms": now_ms + 1, "headers": None}
    assert stream(spark, stage).dtypes == frame.dtypes[:-1]
    assert all(field.nullable for field in frame.schema)


def test_batches_are_bounded_and_offsets_follow_them(stage: Stage, spark: SparkSession, batches: Batches) -> None:
    """While the query waits for records the group has no lag; nothing is planned without new records."""
    stage.fill(100)
    query = batches.start(stream(spark, stage, maxOffsetsPerTrigger="30"))
    eventually(lambda: lag(stage) == 0, "the group has no lag", PATIENCE_S)
    stage.fill(20)
    eventually(lambda: lag(stage) == 0, "the group has no lag", PATIENCE_S)
    rows = [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]
    assert max(rows) == 30
    assert sum(rows) == stage.produced
    assert json.loads(query.recentProgress[-1].sources[0].latestOffset)["offsets"][stage.topic]["0"] == 30
    query.stop()
    await_all_away(stage)
    assert batches.numbers() == stage.all_numbers


def test_one_batch_at_a_time(stage: Stage, spark: SparkSession, batches: Batches) -> None:
    """A trigger of once reads all in one batch. Its offsets are committed by the next run, since no call tells of its end."""
    stage.fill(50)
    frame = stream(spark, stage, maxOffsetsPerTrigger="10")
    batches.read_all(frame, once=True)
    assert batches.numbers() == stage.all_numbers
    assert lag(stage) == 50
    stage.fill(10)
    batches.read_all(frame, once=True)
    assert batches.numbers() == stage.all_numbers
    assert lag(stage) == 10
    batches.read_all(frame)
    assert lag(stage) == 0


def test_a_processing_time(stage: Stage, spark: SparkSession, batches: Batches) -> None:
    """The usual trigger; a query that fails has no members any more."""
    stage.fill(10)
    query = batches.start(stream(spark, stage), processingTime="1 second")
    eventually(lambda: lag(stage) == 0, "the group has no lag", PATIENCE_S)
    query.stop()

    def fail(*_: object) -> None:
        raise ValueError("not this one")

    writer = stream(spark, stage).writeStream.foreachBatch(fail).option("checkpointLocation", batches.checkpoint)
    failing = writer.start()
    stage.fill(1)
    eventually(lambda: not failing.isActive, "the query has failed", PATIENCE_S)
    assert "not this one" in str(failing.exception())
    await_all_away(stage)
    assert len(members(stage)) == 2
    batches.read_all(stream(spark, stage))
    assert batches.numbers() == stage.all_numbers


def test_wrong_options_are_told_in_a_sentence(stage: Stage, spark: SparkSession, batches: Batches) -> None:
    """At `load()`, without a stack of Python; a topic that does not exist when the query starts."""
    with pytest.raises(Exception, match="slots must be a whole number, at least 1, not '0'") as raised:
        stream(spark, stage, slots="0")
    assert "Traceback" not in str(raised.value)
    with pytest.raises(Exception, match="kafka-group is a stream: use readStream"):
        spark.read.format("kafka-group").options(**stream_options(stage)).load().collect()
    own = spark.readStream.format("kafka-group").schema("a INT").options(**stream_options(stage)).load()
    with pytest.raises(Exception, match=r"leave out schema\(\)"):
        batches.read_all(own)
    with pytest.raises(Exception, match="There is no topic nowhere") as raised:
        batches.read_all(stream(spark, stage, subscribe="nowhere"))
    assert "Traceback" not in str(raised.value)
