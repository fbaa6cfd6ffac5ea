"""What an epoch loses while it runs: its membership, its broker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin, KafkaCluster
from membership_client_spark import ParquetSink
from tests.integration.members import eventually
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from membership_client_spark import OffsetRange

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


class Interrupted:
    """Does what `sink` does, and lets `trouble` happen in the first epoch, when its rows are already written."""

    def __init__(self, sink: Collecting, trouble: Callable[[], None]) -> None:
        self._sink = sink
        self._trouble = trouble

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        self._sink(df, epoch_id, offset_ranges)
        if epoch_id == 1:
            self._trouble()


def test_what_was_lost_meanwhile_is_not_committed_but_done_again(kafka: KafkaCluster, spark: SparkSession) -> None:
    """A member is removed from the group during an epoch, and comes back: its part is repeated, the others' is not."""
    stage, seen = Stage(kafka.bootstrap_servers), Collecting()
    stage.fill(40)

    def remove() -> None:
        with GroupAdmin(kafka.bootstrap_servers) as admin:
            members = admin.describe(stage.topic, lag=False).members
        before = stage.group_epoch()
        victim = next(member for member in members if member.instance_id == f"{stage.topic}-0")
        ClusterAdmin(stage.bootstrap_servers).remove_member(stage.topic, victim.member_id, victim.instance_id)
        eventually(lambda: stage.group_epoch() >= before + 2, "slot 0 went and is back", PATIENCE_S)

    with stage.run(spark, Interrupted(seen, remove)):
        eventually(lambda: sum(stage.committed().values()) == 40, "all is committed", PATIENCE_S)
    assert set(seen.numbers.values()) == {1, 2}
    assert sum(seen.numbers.values()) == 60


def test_a_broker_that_is_away_is_waited_for(
    kafka_factory: Callable[..., KafkaCluster], spark: SparkSession, tmp_path: Path
) -> None:
    """It goes during an epoch and comes back later: the epoch is committed then, and the next one follows.

    Once the next one never did, because the client that asks for offsets went on to ask for those of the old leader.
    """
    kafka = kafka_factory()
    stage, reached, killed = Stage(kafka.bootstrap_servers), threading.Event(), threading.Event()
    stage.fill(40)

    def wait_for_the_end(df: DataFrame) -> DataFrame:
        df.count()
        reached.set()
        assert killed.wait(PATIENCE_S)
        return df

    with stage.run(spark, ParquetSink(tmp_path, transform=wait_for_the_end), max_records=20) as pipeline:
        assert reached.wait(PATIENCE_S)
        kafka.kill(1)
        killed.set()
        threading.Event().wait(1)
        kafka.restart(1)
        eventually(lambda: pipeline.progress().records == 40, "both epochs are committed", PATIENCE_S)
    assert stage.numbers_in(spark, tmp_path) == stage.all_numbers
