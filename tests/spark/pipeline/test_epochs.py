"""Epochs: what is in them, when they are committed, and what the group sees of them."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from membership_client import (
    ConfigError,
    GroupMember,
    GroupNotFoundError,
    MemberState,
    Offset,
    TopicPartition,
    WaitTimeoutError,
)
from membership_client.admin import GroupAdmin
from membership_client.testing import KafkaCluster
from membership_client_spark import epochs
from membership_client_spark.errors import NoOffsetError, OffsetBeyondEndError, OffsetsGoneError, SparkSettingsError
from tests.integration.members import eventually
from tests.spark.pipeline.cleaning import clean_logs_often, delete_before, offsets_in
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from membership_client_spark.pipeline.ranges import OffsetRange

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

NOW_MS = int(time.time() * 1000)
"""Retention deletes records whose own time is long ago."""


def test_an_epoch_has_the_columns_of_sparks_own_kafka_source(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Key, value, headers and timestamp arrive as they were produced, absent ones as null."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(stage.topic, b"v", b"k", timestamp=NOW_MS, headers=[("h", b"1"), ("h", None)])
    producer.produce(stage.topic, None, None, timestamp=NOW_MS + 1)
    producer.flush()
    seen: list[Any] = []

    def look(df: DataFrame, _: int, __: object) -> None:
        seen.append(df.dtypes)
        seen.extend(df.selectExpr("*", "unix_millis(timestamp) AS ms").orderBy("offset").collect())

    stage.read_all(spark, look)
    types, first, second = seen
    assert dict(types) == {
        "key": "binary",
        "value": "binary",
        "topic": "string",
        "partition": "int",
        "offset": "bigint",
        "timestamp": "timestamp",
        "timestampType": "int",
        "headers": "array<struct<key:string,value:binary>>",
    }
    assert (first.key, first.value, first.topic, first.partition, first.offset) == (b"k", b"v", stage.topic, 0, 0)
    assert (first.ms, first.timestampType) == (NOW_MS, 0)
    assert [tuple(header) for header in first.headers] == [("h", b"1"), ("h", None)]
    assert (second.key, second.value, second.headers, second.ms) == (None, None, None, NOW_MS + 1)


def test_epochs_are_bounded_counted_and_do_not_disturb_the_group(kafka: KafkaCluster, spark: SparkSession) -> None:
    """No epoch is larger than allowed, ids go on over restarts, and the group's epoch stays what it was all the time."""
    stage, seen, group_epochs = Stage(kafka.bootstrap_servers), Collecting(), set[int]()

    def look(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        seen(df, epoch_id, offset_ranges)
        group_epochs.add(stage.group_epoch())

    for _ in range(2):
        stage.fill(250)
        stage.read_all(spark, look, max_records=100)
    assert seen.numbers == stage.all_numbers
    assert [sum(numbers.values()) for _, numbers, _ in seen.epochs] == [100, 100, 50] * 2
    assert seen.ids == [1, 2, 3, 4, 5, 6]
    assert len(group_epochs | {stage.group_epoch()}) == 1
    assert sum(stage.committed().values()) == stage.produced


def test_a_classic_group_is_not_disturbed_either(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Two runs with the same slots: every record once, and no rebalance after the first epoch has begun."""
    stage, seen, rebalances = Stage(kafka.bootstrap_servers), Collecting(), set[int]()

    def look(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        seen(df, epoch_id, offset_ranges)
        rebalances.add(stage.classic_rebalances(kafka))

    for _ in range(2):
        stage.fill(50)
        stage.read_all(spark, look, stage.config(group_protocol="classic"), max_records=30)
    assert seen.numbers == stage.all_numbers
    assert seen.ids == [1, 2, 3, 4]
    assert len(rebalances | {stage.classic_rebalances(kafka)}) == 1
    assert sum(stage.committed().values()) == stage.produced


def test_epochs_are_bounded_by_bytes_and_come_one_after_the_other(kafka: KafkaCluster, spark: SparkSession) -> None:
    """As many as fit into max_bytes by their size, and not sooner than every_s after the last."""
    stage, counts, times = Stage(kafka.bootstrap_servers), list[int](), list[float]()
    stage.fill(450)

    def look(_: DataFrame, __: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        counts.append(sum(piece.end - piece.start for piece in offset_ranges))
        times.append(time.monotonic())

    stage.read_all(spark, look, max_bytes=100 * Stage.RECORD_BYTES, every_s=1.0)
    assert counts == [100, 100, 100, 100, 50]
    # Four seconds from the plan of the first to the plan of the last; what is seen here comes a little after each.
    assert times[-1] - times[0] > 2.0


def test_epochs_are_bounded_by_time(kafka: KafkaCluster, spark: SparkSession) -> None:
    """After a first one that took long the next is small."""
    stage, counts = Stage(kafka.bootstrap_servers), list[int]()
    stage.fill(11_000)

    def look(_: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        counts.append(sum(piece.end - piece.start for piece in offset_ranges))
        if epoch_id == 1:
            time.sleep(1.0)

    stage.read_all(spark, look, max_seconds=0.05)
    assert counts[0] == 10_000
    assert counts[1] <= 10_000 * 0.05
    assert sum(counts) == 11_000


def test_offsets_are_committed_after_the_function_returned(kafka: KafkaCluster, spark: SparkSession) -> None:
    """While it runs, the group stands where the epoch before left it."""
    stage, inside = Stage(kafka.bootstrap_servers, partitions=1), list[int]()
    stage.fill(30)
    stage.read_all(spark, lambda *_: inside.append(sum(stage.committed().values())), max_records=10)
    assert inside == [0, 10, 20]
    assert sum(stage.committed().values()) == 30


def test_evaluated_twice_an_epoch_has_the_same_rows(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Records that come meanwhile belong to the next one."""
    stage, sizes = Stage(kafka.bootstrap_servers), list[tuple[int, int]]()
    stage.fill(40)

    def look(df: DataFrame, _: int, __: object) -> None:
        before = df.count()
        stage.fill(40)
        sizes.append((before, df.count()))

    stage.read_all(spark, look)
    assert sizes == [(40, 40)]


def test_a_function_that_raises_ends_the_pipeline_and_loses_nothing(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Its exception comes out of wait() as it was, with the epoch in a note; the next pipeline repeats the epoch."""
    stage, seen = Stage(kafka.bootstrap_servers), Collecting()
    stage.fill(60)
    failure = LookupError("no such row")

    def fail_in_the_second(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        if epoch_id == 2:
            raise failure
        seen(df, epoch_id, offset_ranges)

    with stage.run(spark, fail_in_the_second, max_records=20) as pipeline, pytest.raises(LookupError) as raised:
        pipeline.wait(PATIENCE_S)
    assert raised.value is failure
    assert "This was epoch 2" in failure.__notes__[0]
    stage.read_all(spark, seen)
    assert (seen.ids, seen.numbers) == ([1, 2], stage.all_numbers)


def test_values_with_a_schema_go_through_sparks_own_functions(kafka: KafkaCluster, spark: SparkSession) -> None:
    """from_json, as with any DataFrame."""
    from pyspark.sql.functions import col, from_json

    stage, sums = Stage(kafka.bootstrap_servers), list[int]()
    stage.fill(100)

    def add(df: DataFrame, _: int, __: object) -> None:
        parsed = df.select(from_json(col("value").cast("string"), "n INT").alias("v"))
        sums.append(parsed.selectExpr("sum(v.n) AS total").collect()[0].total)

    stage.read_all(spark, add)
    assert sums == [sum(range(100))]


def test_values_in_avro_go_through_sparks_own_function(kafka: KafkaCluster, spark: SparkSession) -> None:
    """from_avro, which comes in a package of its own; a record of one small number is one byte."""
    from pyspark.sql.avro.functions import from_avro

    stage, seen = Stage(kafka.bootstrap_servers), list[int]()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(60):
        producer.produce(stage.topic, bytes([2 * number]))
    producer.flush()
    schema = json.dumps({"type": "record", "name": "order", "fields": [{"name": "n", "type": "int"}]})

    def look(df: DataFrame, _: int, __: object) -> None:
        seen.extend(row.n for row in df.select(from_avro(df.value, schema).alias("v")).select("v.n").collect())

    stage.read_all(spark, look)
    assert sorted(seen) == list(range(60))


def test_aborted_transactions_and_markers_are_no_records(kafka: KafkaCluster, spark: SparkSession) -> None:
    """A range that ends in markers comes to its end, and what was aborted is not in it; the next run finds nothing new."""
    stage, seen = Stage(kafka.bootstrap_servers, partitions=2), Collecting()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": stage.topic})
    producer.init_transactions()
    for outcome in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        stage.fill(20, producer)
        outcome()
    for _ in range(2):
        stage.read_all(spark, seen)
    assert sorted(seen.numbers) == list(range(20))
    assert len(seen.epochs) == 1


@pytest.mark.parametrize("reader", ["python", "spark"])
def test_a_compacted_topic_has_gaps(kafka: KafkaCluster, spark: SparkSession, reader: str) -> None:
    """Ranges that begin, end or lie within a gap are read all the same."""
    clean_logs_often(kafka)
    config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"}
    stage, seen = Stage(kafka.bootstrap_servers, 1, **config, **{"max.compaction.lag.ms": "100"}), list[int]()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})

    def look(df: DataFrame, _: int, __: object) -> None:
        seen.extend(row.offset for row in df.select("offset").collect())

    for key in [b"same"] * 100 + [str(number).encode() for number in range(50)] + [b"same"] * 100:
        producer.produce(stage.topic, b"", key)
    producer.flush()
    threading.Event().wait(0.2)
    producer.produce(stage.topic, b"", b"the segment before this one may be compacted now")
    producer.flush()
    eventually(lambda: len(offsets_in(stage)) == 52, "the topic is compacted")
    stage.read_all(spark, look, max_records=60, reader=reader)
    assert seen == offsets_in(stage)
    assert sum(stage.committed().values()) == 251


def test_a_task_that_dies_is_read_again(kafka: KafkaCluster, spark: SparkSession, tmp_path: Path) -> None:
    """The rows are complete and none is doubled when a Python worker is killed in the middle of its range."""
    stage, died, seen = Stage(kafka.bootstrap_servers), tmp_path / "died", Collecting()
    stage.fill(400)

    def die_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    def look(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        seen(df.mapInArrow(die_once, df.schema), epoch_id, offset_ranges)

    stage.read_all(spark, look)
    assert died.exists()
    assert seen.numbers == stage.all_numbers
    assert sum(stage.committed().values()) == 400


def test_a_partition_that_others_want_is_given_up_after_the_epoch(kafka: KafkaCluster, spark: SparkSession) -> None:
    """A member that joins during an epoch waits for its commit, and starts right behind it: nothing is done twice."""
    stage, seen = Stage(kafka.bootstrap_servers), Collecting()
    stage.fill(40)
    running, joined = threading.Event(), threading.Event()

    def look(df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        seen(df, epoch_id, offset_ranges)
        running.set()
        assert joined.wait(PATIENCE_S)
        assert not foreign.assignment()

    with (
        GroupMember({"bootstrap.servers": kafka.bootstrap_servers, "group.id": stage.topic}) as foreign,
        stage.run(spark, look) as pipeline,
    ):
        assert running.wait(PATIENCE_S)
        foreign.subscribe([stage.topic])
        foreign.wait_until(MemberState.STABLE, PATIENCE_S)
        eventually(lambda: _wanted_back(pipeline.progress()), "partitions are asked back")
        joined.set()
        owned = foreign.wait_until(lambda now: bool(now.owned), PATIENCE_S).owned
        committed = foreign.committed(owned)
        assert {offset.offset for offset in committed.values() if offset} == {10}
        assert pipeline.stop(timeout_s=PATIENCE_S)
    assert seen.numbers == stage.all_numbers


def _wanted_back(progress: Any) -> bool:
    return any(slot.state is MemberState.RECONCILING for slot in progress.slots)


def test_slots_come_and_go_between_epochs(kafka: KafkaCluster, spark: SparkSession) -> None:
    """More slots share the partitions; those that are too many leave for good, at once, with the reason."""
    stage, seen = Stage(kafka.bootstrap_servers), Collecting()

    def owning(count: int) -> None:
        def each_has_some() -> bool:
            shares = [len(slot.partitions) for slot in pipeline.progress().slots]
            return len(shares) == count and all(shares) and sum(shares) == stage.partitions

        eventually(each_has_some, f"{count} slots share all partitions", PATIENCE_S)

    with stage.run(spark, seen, slots=1) as pipeline:
        for count in (1, 4, 2):
            pipeline.scale(count, reason="the night is quiet")
            owning(count)
            stage.fill(40)
            eventually(lambda: seen.numbers == stage.all_numbers, "all was read", PATIENCE_S)
        assert pipeline.stop(timeout_s=PATIENCE_S)
        assert pipeline.wait().records == 120
    assert "the night is quiet" in kafka.log(kafka.brokers[0])


def test_stopping_finishes_the_running_epoch(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Meanwhile the pipeline can be watched, and waited for in pieces; afterwards the epoch is committed."""
    stage, inside, go_on = Stage(kafka.bootstrap_servers), threading.Event(), threading.Event()
    stage.fill(40)

    def hang(*_: object) -> None:
        inside.set()
        assert go_on.wait(PATIENCE_S)

    with stage.run(spark, hang, max_bytes=10_000, max_seconds=60) as pipeline:
        assert inside.wait(PATIENCE_S)
        now = pipeline.progress()
        assert (now.running, now.last, now.lag) == (1, None, 40)
        assert not pipeline.stop("enough", timeout_s=0.1)
        with pytest.raises(WaitTimeoutError):
            pipeline.wait(0.1)
        go_on.set()
        last = pipeline.wait(PATIENCE_S).last
    assert last is not None
    assert (last.epoch_id, last.records, last.bytes) == (1, 40, 40 * Stage.RECORD_BYTES)
    assert sum(stage.committed().values()) == 40


def test_a_place_to_start_that_is_beyond_the_end_is_an_error(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Where a topic was created anew, going on silently would lose records."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    stage.fill(10)
    with GroupMember({"bootstrap.servers": kafka.bootstrap_servers, "group.id": stage.topic}) as member:
        member.subscribe([stage.topic])
        member.wait_until(lambda now: bool(now.owned), PATIENCE_S)
        member.commit({TopicPartition(stage.topic, 0): Offset(1000)})
    with stage.run(spark, Collecting()) as pipeline, pytest.raises(OffsetBeyondEndError, match=r"at 1000.*ends at 10"):
        pipeline.wait(PATIENCE_S)


def test_records_that_are_gone_are_jumped_over_if_the_user_wants_it(kafka: KafkaCluster, spark: SparkSession) -> None:
    """Between two runs the head of the log was deleted: earliest goes on with what is left, error does not."""
    stage, seen = Stage(kafka.bootstrap_servers, partitions=1), Collecting()
    stage.fill(10)
    stage.read_all(spark, seen)
    stage.fill(20)
    delete_before(stage, 25)
    with (
        stage.run(spark, seen, stage.config(auto_offset_reset="error")) as pipeline,
        pytest.raises(OffsetsGoneError, match=r"should go on at 10, but begins at 25"),
    ):
        pipeline.wait(PATIENCE_S)
    stage.read_all(spark, seen)
    assert [str(piece) for _, _, (piece,) in seen.epochs] == [f"{stage.topic}-0[0, 10)", f"{stage.topic}-0[25, 30)"]


def test_a_topic_that_is_not_there_cannot_be_read_to_its_end(kafka: KafkaCluster, spark: SparkSession) -> None:
    """A misspelt name would otherwise look like a topic without records."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    stage.topic += "-misspelt"
    with stage.run(spark, Collecting(), available_now=True) as pipeline, pytest.raises(ConfigError, match="no topic"):
        pipeline.wait(PATIENCE_S)


def test_a_run_that_finds_nothing_to_read_joins_no_group(kafka: KafkaCluster, spark: SparkSession) -> None:
    """It took five to seven seconds of joining, for an empty topic as for one that was read to its end."""
    stage, seen = Stage(kafka.bootstrap_servers), Collecting()
    stage.read_all(spark, seen)
    with GroupAdmin(kafka.bootstrap_servers) as admin, pytest.raises(GroupNotFoundError):
        admin.describe(stage.topic)
    stage.fill(40)
    stage.read_all(spark, seen)
    before = stage.group_epoch()
    stage.read_all(spark, seen)
    assert (stage.group_epoch(), len(seen.epochs)) == (before, 1)


def test_spark_shows_which_jobs_are_whose(kafka: KafkaCluster, spark: SparkSession) -> None:
    """By the name of the pipeline and the epoch; what the function sets itself does not stay."""
    stage, texts = Stage(kafka.bootstrap_servers), list[str | None]()
    stage.fill(20)

    def look(df: DataFrame, *_: object) -> None:
        texts.append(spark.sparkContext.getLocalProperty("spark.job.description"))
        spark.sparkContext.setJobDescription("mine")

    spark.sparkContext.setJobDescription("the program's")
    with stage.run(spark, look, max_records=10, available_now=True) as pipeline:
        pipeline.wait(PATIENCE_S)
        assert repr(pipeline) == f"<Epochs '{stage.topic}': ended, 2 epochs, lag 0>"
        assert str(pipeline).startswith(f"{stage.topic} (ended): 2 epochs with 20 records")
    assert texts == [f"{stage.topic}: epoch 1", f"{stage.topic}: epoch 2"]
    assert spark.sparkContext.getLocalProperty("spark.job.description") == "the program's"
    spark.sparkContext.setJobDescription("")


def test_executors_that_cannot_read_are_told_of_before_there_is_a_record(
    kafka: KafkaCluster, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another Python than the driver's was a ModuleNotFoundError of the first epoch, a minute after the start."""
    text = "No module named 'confluent_kafka'"
    (tmp_path / "confluent_kafka.py").write_text(f'raise ModuleNotFoundError("{text}", name="confluent_kafka")')
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    stage = Stage(kafka.bootstrap_servers)
    with stage.run(spark, Collecting()) as pipeline, pytest.raises(SparkSettingsError, match=text) as raised:
        pipeline.wait(PATIENCE_S)
    assert "PYSPARK_PYTHON" in str(raised.value)
    assert repr(pipeline).startswith(f"<Epochs '{stage.topic}': ended by SparkSettingsError")


def test_without_a_place_to_start_error_means_error(kafka: KafkaCluster, spark: SparkSession) -> None:
    """auto.offset.reset=error is kept to."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    stage.fill(10)
    config = stage.config(auto_offset_reset="error")
    with stage.run(spark, Collecting(), config) as pipeline, pytest.raises(NoOffsetError, match="offsets 0 to 10"):
        pipeline.wait(PATIENCE_S)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"slots": 0}, "at least 1"),
        ({"topics": "orders"}, "list of at least one topic"),
        ({"name": "a b"}, "is not legal"),
        ({"max_records": 0}, "max_records must be a whole number, at least 1"),
        ({"config": {"bootstrap.servers": "b:1"}}, "group.id is missing"),
        ({"config": {"bootstrap.servers": "b:1", "group.id": "g", "enable.auto.commit": True}}, "commits by itself"),
        ({"config": {"bootstrap.servers": "b:1", "group.id": "g", "auto.offset.reset": "x"}}, "must be one of"),
        ({"config": {"bootstrap.servers": "b:1", "group.id": "g", "group.instance.id": "x"}}, "Leave it out"),
        ({"config": {"bootstrap.servers": "b:1", "group.id": "g", "fetch.max": "x"}}, "No such configuration property"),
        ({"every_s": -1}, "that is not negative"),
        ({"foreach_epoch": "look"}, "must be a function"),
    ],
)
def test_what_cannot_work_is_refused_at_once(options: dict[str, Any], says: str, spark: SparkSession) -> None:
    """Before anything is started."""
    good: dict[str, Any] = {
        "slots": 1,
        "topics": ["orders"],
        "name": "a",
        "config": {"bootstrap.servers": "b:1", "group.id": "g"},
    }
    with pytest.raises(ConfigError, match=says):
        epochs(spark, **{"foreach_epoch": Collecting(), **good, **options})
