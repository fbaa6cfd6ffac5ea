"""Drivers that are killed at any moment: what is in the sink at the end is what is in the topic."""

from __future__ import annotations

import contextlib
import random
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from membership_client_spark.parquet.sink import ParquetSink
from tests.integration.members import eventually
from tests.integration.speaking import SpeakingProcess
from tests.spark.clusters import sessions
from tests.spark.pipeline.stage import PATIENCE_S, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.spark.clusters.connect_server import ConnectServer
    from tests.spark.conftest import DriverFactory

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(360)]

PROGRAM = Path(__file__).with_name("parquet_driver.py")


@contextlib.contextmanager
def ended(process: SpeakingProcess) -> Iterator[SpeakingProcess]:
    try:
        yield process
    finally:
        process.stop()


def wait_for_epochs(client: SpeakingProcess, count: int) -> None:
    eventually(lambda: len(client.said) >= count, f"the client has begun {count} epochs", PATIENCE_S)


def test_clients_of_a_connect_server_are_killed(
    kafka: KafkaCluster, local_connect: ConnectServer, spark: SparkSession, tmp_path: Path
) -> None:
    """The server may still work for the dead one when the next has started; the group notices none of it."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(400)
    task = {"remote": local_connect.url, "config": stage.config(), "topic": stage.topic, "path": str(tmp_path)}
    group_epochs = set[int]()
    for number in range(3):
        with ended(SpeakingProcess(PROGRAM, {**task, "max_records": 30})) as client:
            wait_for_epochs(client, 1 + number % 2)
            group_epochs.add(stage.group_epoch())
            time.sleep(random.random())
            client.signal(signal.SIGKILL)
    with ended(SpeakingProcess(PROGRAM, {**task, "max_records": 200})) as client:
        assert client.wait_ended(PATIENCE_S) == 0
    assert stage.numbers_in(spark, tmp_path) == stage.all_numbers
    assert sum(stage.committed().values()) == 400
    assert len(group_epochs | {stage.group_epoch()}) == 1


def test_a_driver_is_killed_with_its_jvm(
    kafka: KafkaCluster, new_driver: DriverFactory, spark: SparkSession, tmp_path: Path
) -> None:
    """The next one takes over its slots without a rebalance, and goes on after what was published."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(300)
    task = {"config": stage.config(), "topic": stage.topic, "path": str(tmp_path / "sink"), "max_records": 50}
    first = new_driver(PROGRAM, sessions.local(), task)
    first.wait_for("epoch", number=2)
    group_epoch = stage.group_epoch()
    time.sleep(random.random())
    first.kill()
    first.wait_ended()
    stage.read_all(spark, ParquetSink(tmp_path / "sink"))
    assert stage.numbers_in(spark, tmp_path / "sink") == stage.all_numbers
    assert stage.group_epoch() == group_epoch
