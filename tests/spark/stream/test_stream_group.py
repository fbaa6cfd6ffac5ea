"""The checkpoint and the group: what happens when they do not say the same."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from membership_client import GroupMember, Offset, TopicPartition
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import eventually
from tests.spark.pipeline.cleaning import delete_before
from tests.spark.pipeline.stage import PATIENCE_S, Stage
from tests.spark.stream.queries import Batches, await_all_away, lag, members, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900), pytest.mark.deep]


@pytest.fixture
def others(tmp_path: Path) -> Batches:
    """With a checkpoint of their own."""
    return Batches(tmp_path / "second")


def test_a_new_checkpoint_in_an_old_group(stage: Stage, spark: SparkSession, tmp_path: Path, others: Batches) -> None:
    """It starts at the committed offsets, unless startingOffsets says otherwise; then the group is set back."""
    first, third = Batches(tmp_path / "first"), Batches(tmp_path / "third")
    stage.fill(40)
    first.read_all(stream(spark, stage))
    stage.fill(20)
    others.read_all(stream(spark, stage, startingOffsets="committed"))
    assert others.numbers() == stage.all_numbers - Counter(range(40))
    third.read_all(stream(spark, stage, startingOffsets="earliest", maxOffsetsPerTrigger="25"))
    assert third.numbers() == stage.all_numbers
    assert lag(stage) == 0
    fourth = Batches(tmp_path / "fourth")
    fourth.read_all(stream(spark, stage, startingOffsets=f'{{"{stage.topic}": {{"1": 5, "2": -1}}}}'))
    assert fourth.numbers() == Counter(range(21, stage.produced, 4))


def test_without_committed_offsets_the_usual_key_decides(stage: Stage, spark: SparkSession, batches: Batches) -> None:
    """`kafka.auto.offset.reset`, by default latest; the group then has an offset for each partition."""
    stage.fill(8)
    batches.read_all(stream(spark, stage, startingOffsets="committed"))
    assert batches.numbers() == Counter()
    assert lag(stage) == 0
    stage.fill(8)
    batches.read_all(stream(spark, stage, startingOffsets="committed"))
    assert batches.numbers() == Counter(range(8, 16))


def test_another_member_read_on_while_the_query_was_away(stage: Stage, spark: SparkSession, batches: Batches) -> None:
    """The batch that had not ended is repeated as it was; after it the query goes on where the other member ended."""
    stage.fill(20)
    started = threading.Event()

    def fail(df: DataFrame, _: int) -> None:
        started.set()
        raise ValueError("ended in the middle")

    frame = stream(spark, stage)
    writer = frame.writeStream.foreachBatch(fail).option("checkpointLocation", batches.checkpoint)
    query = writer.start()
    eventually(lambda: not query.isActive, "the query has failed", PATIENCE_S)
    await_all_away(stage)
    assert lag(stage) == 20
    stage.fill(20)
    place = TopicPartition(stage.topic, 0)
    with_it = {"bootstrap.servers": stage.bootstrap_servers, "group.id": stage.topic}
    with GroupMember(
        {**with_it, "group.instance.id": f"{stage.topic}-0", "group.instance.id.conflict": "takeover"}
    ) as other:
        other.subscribe([stage.topic])
        eventually(lambda: place in other.snapshot.owned, "the other member owns the partition")
        other.commit({place: Offset(8)})
    stage.fill(20)
    batches.read_all(frame)
    # Records 0, 4, ... are in partition 0: 5 of them in the first batch, then the other member had 3.
    theirs = {20, 24, 28}
    assert batches.numbers() == Counter(set(range(stage.produced)) - theirs)
    assert lag(stage) == 0


def test_two_queries_of_one_group_share_its_partitions(
    stage: Stage, spark: SparkSession, batches: Batches, others: Batches
) -> None:
    """With a name each. What one of them gives up the other one reads on."""
    stage.fill(40)
    first = batches.start(stream(spark, stage, name="left", slots="1"))
    eventually(lambda: lag(stage) == 0, "all is read", PATIENCE_S)
    second = others.start(stream(spark, stage, name="right", slots="1", startingOffsets="committed"))
    eventually(lambda: {len(one.current) for one in members(stage).values()} == {2}, "both have a share", PATIENCE_S)
    stage.fill(40)
    eventually(lambda: lag(stage) == 0, "all is read", PATIENCE_S)
    assert others.numbers().total() == 20
    assert batches.numbers() + others.numbers() == stage.all_numbers
    first.stop()
    second.stop()


def test_two_queries_of_one_name(stage: Stage, spark: SparkSession, batches: Batches, others: Batches) -> None:
    """The newer one takes the slots over, and the older one ends with an error that says so."""
    stage.fill(8)
    older = batches.start(stream(spark, stage))
    eventually(lambda: lag(stage) == 0, "all is read", PATIENCE_S)
    newer = others.start(stream(spark, stage, startingOffsets="committed"))
    eventually(lambda: not older.isActive, "the older query has ended", PATIENCE_S)
    assert "SupersededError" in str(older.exception())
    stage.fill(8)
    eventually(lambda: lag(stage) == 0, "the newer one reads on", PATIENCE_S)
    newer.stop()
    assert batches.numbers() + others.numbers() == stage.all_numbers


def test_partitions_that_are_added_are_read_from_their_first_record(
    stage: Stage, spark: SparkSession, batches: Batches
) -> None:
    """Also if a new query would start at the end."""
    query = batches.start(stream(spark, stage, startingOffsets="latest"))
    eventually(lambda: len(stage.committed()) == 4, "the group has offsets", PATIENCE_S)
    admin = AdminClient({"bootstrap.servers": stage.bootstrap_servers, "log_level": 0})
    admin.create_partitions([NewPartitions(stage.topic, 6)])[stage.topic].result()
    stage.partitions = 6
    eventually(lambda: _fill(stage), "the new partitions take records", PATIENCE_S)
    eventually(lambda: batches.numbers() == stage.all_numbers, "all is read", PATIENCE_S)
    query.stop()


def _fill(stage: Stage) -> bool:
    stage.fill(24)
    return True


def test_a_topic_that_is_deleted_and_created_again(stage: Stage, spark: SparkSession, batches: Batches) -> None:
    """Its offsets mean other records: an error, with the old checkpoint; a new one reads the new topic."""
    stage.fill(8)
    frame = stream(spark, stage)
    batches.read_all(frame)
    admin = ClusterAdmin(stage.bootstrap_servers)
    client = AdminClient({"bootstrap.servers": stage.bootstrap_servers, "log_level": 0})
    client.delete_topics([stage.topic])[stage.topic].result()
    eventually(lambda: _created(admin, stage), "the topic can be created again")
    stage.fill(40)
    with pytest.raises(Exception, match=r"TopicRecreatedError.*Start the query with a new checkpoint"):
        batches.read_all(frame)


def _created(admin: ClusterAdmin, stage: Stage) -> bool:
    try:
        admin.create_topic(stage.topic, stage.partitions)
    except Exception:  # noqa: BLE001 - it is still being deleted
        return False
    return True


def test_records_that_were_deleted(kafka: KafkaCluster, spark: SparkSession, batches: Batches) -> None:
    """An error, as in Spark's own source, until failOnDataLoss is false."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    stage.fill(4)
    batches.read_all(stream(spark, stage))
    stage.fill(10)
    delete_before(stage, 9)
    with pytest.raises(Exception, match=r"OffsetsGoneError.*should go on at 4, but begins at 9.*failOnDataLoss"):
        batches.read_all(stream(spark, stage))
    batches.read_all(stream(spark, stage, failOnDataLoss="false"))
    assert batches.numbers() == Counter([*range(4), *range(9, 14)])
