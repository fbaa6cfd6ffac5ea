"""The exactly-once pipeline on a cluster of three hosts.

Whatever is lost in the middle of an epoch, every record is in the Parquet once, and the group does not rebalance.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from tests.integration.members import eventually
from tests.spark.clusters import sessions
from tests.spark.clusters.driver_process import PATIENCE_S
from tests.spark.clusters.executors import Executor
from tests.spark.clusters.processes import is_running, send
from tests.spark.clusters.standalone import StandaloneCluster
from tests.spark.consume.scenes import executor_of
from tests.spark.consume.test_losses import DYNAMIC, QUICK_TO_NOTICE
from tests.spark.pipeline.standing import StandingPipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400), pytest.mark.deep]

LOSSES: dict[str, Callable[[StandaloneCluster, Executor, int], None]] = {
    "a killed executor": lambda _, executor, __: executor.kill(),
    "a killed Python worker": lambda _, __, worker: send(worker, signal.SIGKILL),
    "an executor that is told to end": lambda _, executor, __: executor.terminate(),
    "a lost host": lambda cluster, executor, _: cluster.lose_host(executor.host),
}


@pytest.fixture(scope="module")
def pipeline(
    patient_kafka: KafkaCluster, standalone_of_the_run: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StandingPipeline]:
    """One for all tests of this file."""
    made = StandingPipeline(patient_kafka, tmp_path_factory.mktemp("standing"))
    made.start(sessions.standalone(standalone_of_the_run, QUICK_TO_NOTICE))
    yield made
    made.stop()


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_loss_in_the_middle_of_an_epoch(
    pipeline: StandingPipeline,
    standalone: StandaloneCluster,
    spark: SparkSession,
    lose: Callable[[StandaloneCluster, Executor, int], None],
) -> None:
    """Another task reads the range again; the members, which are in the driver, are not affected."""
    worker, before = pipeline.hold(), pipeline.photo()
    lose(standalone, executor_of(standalone.executors(), {"pid": worker}), worker)
    eventually(lambda: not is_running(worker), "the end of the worker", PATIENCE_S)
    pipeline.release()
    pipeline.read_all(spark)
    assert pipeline.photo() == before


def test_a_decommissioned_executor(
    pipeline: StandingPipeline, standalone: StandaloneCluster, spark: SparkSession
) -> None:
    """It comes to the end of its range, and goes; the next epochs are read by the others."""
    worker, before = pipeline.hold(), pipeline.photo()
    leaving = executor_of(standalone.executors(), {"pid": worker})
    leaving.decommission()
    pipeline.release()
    pipeline.read_all(spark)
    eventually(lambda: not is_running(leaving.pid), "the executor has gone", PATIENCE_S)
    pipeline.read_all(spark)
    assert pipeline.photo() == before


def test_a_silent_executor(pipeline: StandingPipeline, standalone: StandaloneCluster, spark: SparkSession) -> None:
    """A JVM that stops for longer than Spark waits: when it goes on, its rows are not asked for any more."""
    worker, before = pipeline.hold(), pipeline.photo()
    silent = executor_of(standalone.executors(), {"pid": worker})
    silent.pause()
    pipeline.release()
    pipeline.read_all(spark)
    silent.resume()
    eventually(lambda: not is_running(silent.pid), "the old executor has ended", PATIENCE_S)
    pipeline.read_all(spark)
    assert pipeline.photo() == before


def test_a_cancelled_job_that_is_submitted_again(
    pipeline: StandingPipeline, standalone: StandaloneCluster, spark: SparkSession
) -> None:
    """The pipeline ends with Spark's own error, its slots leave temporarily, and the next one has them as they were."""
    pipeline.hold()
    before = pipeline.photo()
    pipeline.driver.tell("cancel")
    assert "cancel" in pipeline.driver.wait_for("failed")["error"]
    pipeline.release()
    pipeline.read_all(spark)
    after = pipeline.photo()
    assert (after.epoch, after.shares) == (before.epoch, before.shares)


def test_slots_that_come_and_go(pipeline: StandingPipeline, standalone: StandaloneCluster, spark: SparkSession) -> None:
    """Asked for in the middle of an epoch, done after it."""
    for slots in (3, 2):
        pipeline.hold()
        pipeline.driver.tell(f"scale {slots}")
        pipeline.release()
        pipeline.await_slots(slots)
        pipeline.read_all(spark)


def test_a_killed_driver_is_started_again_where_executors_come_and_go(
    pipeline: StandingPipeline, standalone: StandaloneCluster, spark: SparkSession
) -> None:
    """Kill -9 of Python and JVM in the middle of an epoch: the next one takes over the slots, and reads it again.

    With dynamic allocation an idle pipeline keeps its members and no executor; the next epoch gets one, and it may be lost.
    """
    pipeline.hold()
    before = pipeline.photo()
    pipeline.replace_driver(standalone, sessions.standalone(standalone, DYNAMIC))
    pipeline.release()
    pipeline.read_all(spark)
    eventually(lambda: not standalone.executors(), "idle executors have ended", PATIENCE_S)
    after = pipeline.photo()
    assert (after.epoch, after.shares) == (before.epoch, before.shares)
    assert after.members != before.members
    worker = pipeline.hold()
    executor_of(standalone.executors(), {"pid": worker}).kill()
    pipeline.release()
    pipeline.read_all(spark)
    assert pipeline.photo() == after
