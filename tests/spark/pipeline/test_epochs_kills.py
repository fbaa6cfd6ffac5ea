"""A driver that is killed with its JVM: what is in the sink at the end is what is in the topic."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from membership_client_spark.parquet.sink import ParquetSink
from tests.spark.clusters import sessions
from tests.spark.pipeline.parquet_driver import FEW, PROGRAM
from tests.spark.pipeline.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import DriverFactory

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(360), pytest.mark.deep]


def test_a_driver_is_killed_with_its_jvm(
    kafka: KafkaCluster, new_driver: DriverFactory, spark: SparkSession, tmp_path: Path
) -> None:
    """The next one takes over its slots without a rebalance, and goes on after what was published.

    Under the classic protocol; test_standalone.py has the other.
    """
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(300)
    config, path = stage.config(group_protocol="classic", session_timeout_ms=120_000), tmp_path / "sink"
    task = {"config": config, "topic": stage.topic, "path": str(path), "max_records": FEW}
    first = new_driver(PROGRAM, sessions.local(), task)
    first.wait_for("epoch", number=2)
    rebalances = stage.classic_rebalances(kafka)
    time.sleep(random.Random(1).random())
    first.kill()
    first.wait_ended()
    assert not first.all("done")
    stage.read_all(spark, ParquetSink(path), config)
    assert stage.numbers_in(spark, path) == stage.all_numbers
    assert stage.classic_rebalances(kafka) == rebalances > 0
