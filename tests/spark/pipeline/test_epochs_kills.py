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

SEED = 1
"""Of when they are killed."""

FEW = 4
"""Records of an epoch: there is always another one to come when its driver is killed."""


@contextlib.contextmanager
def ended(process: SpeakingProcess) -> Iterator[SpeakingProcess]:
    try:
        yield process
    finally:
        process.stop()


def wait_for_epochs(client: SpeakingProcess, count: int) -> None:
    eventually(lambda: len(client.said) >= count, f"the client has begun {count} epochs", PATIENCE_S)


def test_clients_of_a_connect_server_are_killed(
    patient_kafka: KafkaCluster, local_connect: ConnectServer, spark: SparkSession, tmp_path: Path
) -> None:
    """The server may still work for the dead one when the next has started; the group notices none of it."""
    stage = Stage(patient_kafka.bootstrap_servers)
    stage.be_patient()
    stage.fill(400)
    task = {"remote": local_connect.url, "config": stage.config(), "topic": stage.topic, "path": str(tmp_path)}
    group_epochs, chance = set[int](), random.Random(SEED)
    for number in range(3):
        with ended(SpeakingProcess(PROGRAM, {**task, "max_records": FEW})) as client:
            wait_for_epochs(client, 1 + number % 2)
            group_epochs.add(stage.group_epoch())
            time.sleep(chance.random())
            client.signal(signal.SIGKILL)
            client.wait_ended(PATIENCE_S)
            assert {"kind": "done"} not in client.said
    with ended(SpeakingProcess(PROGRAM, {**task, "max_records": 200})) as client:
        assert client.wait_ended(PATIENCE_S) == 0
    assert stage.numbers_in(spark, tmp_path) == stage.all_numbers
    assert sum(stage.committed().values()) == 400
    assert len(group_epochs | {stage.group_epoch()}) == 1


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
    time.sleep(random.Random(SEED).random())
    first.kill()
    first.wait_ended()
    assert not first.all("done")
    stage.read_all(spark, ParquetSink(path), config)
    assert stage.numbers_in(spark, path) == stage.all_numbers
    assert stage.classic_rebalances(kafka) == rebalances > 0
