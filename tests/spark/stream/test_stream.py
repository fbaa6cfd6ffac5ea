"""A topic as a streaming DataFrame, in daily use, on one local session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.pipeline.stage import PATIENCE_S, Stage, numbers_of
from tests.spark.stream.queries import await_all_away, lag, members, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Deep, because Spark gives the worker of a stream ten seconds to start, whatever the machine does beside it.
pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400), pytest.mark.deep]


def test_a_stream_reads_a_topic_and_its_group_is_seen(kafka: KafkaCluster, spark: SparkSession) -> None:
    """All records are in a memory table, the group has no lag and two members by name, and these left when the query ended."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(40)
    writer = stream(spark, stage).writeStream.format("memory").queryName("seen").trigger(availableNow=True)
    assert writer.start().awaitTermination(int(PATIENCE_S))
    assert numbers_of(row.value for row in spark.table("seen").select("value").collect()) == stage.all_numbers
    assert lag(stage) == 0
    await_all_away(stage)
    assert set(members(stage)) == {f"{stage.topic}-0", f"{stage.topic}-1"}
