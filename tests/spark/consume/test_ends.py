"""What is left of a job that could not start, and of one that was stopped."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pyspark.sql import SparkSession

from membership_client import ConfigError, MemberClosedError
from membership_client.testing import KafkaCluster
from membership_client_spark import SlotJob, consume
from tests.spark.pipeline.stage import Stage

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def started(spark: SparkSession, stage: Stage, **config: Any) -> SlotJob:
    return consume(
        spark,
        slots=1,
        name="slot",
        config=stage.config(**config),
        topics=[stage.topic],
        handle=lambda batch, slot: None,
    )


def arbiters() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "slot-arbiter"}


def test_a_job_that_cannot_start_leaves_nothing_behind(spark: SparkSession, kafka: KafkaCluster) -> None:
    """It used to leave its arbiter: a thread and an open port, for as long as the driver lived."""
    before = arbiters()
    with pytest.raises(ConfigError):
        started(spark, Stage(kafka.bootstrap_servers), security_protocol="no such thing")
    assert arbiters() == before


def test_a_stopped_job_cannot_be_scaled(spark: SparkSession, kafka: KafkaCluster) -> None:
    """It used to start all its slots again, without leases, and nothing stopped them."""
    before = arbiters()
    job = started(spark, Stage(kafka.bootstrap_servers))
    job.stop()
    with pytest.raises(MemberClosedError, match="slot has ended"):
        job.scale(1)
    assert arbiters() == before
