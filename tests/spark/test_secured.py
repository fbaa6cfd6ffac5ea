"""Whole jobs on a cluster with authentication: driver, slots and readers connect, and show no secret."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import DataFrame, SparkSession

from membership_client_spark import OffsetRange, Slot, consume, epochs
from tests.integration.members import eventually
from tests.security.secure_kafka import SCRAM_PASSWORD, SecureKafka
from tests.spark.clusters.driver_process import PATIENCE_S

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300), pytest.mark.deep]

_RECORDS = 20


@pytest.fixture(params=["pem-strings", "scram-256", "token"])
def config(secured: SecureKafka, request: pytest.FixtureRequest) -> dict[str, Any]:
    """One way in, to a group with a topic of the same name and a few records."""
    topic = secured.new_topic()
    producer = Producer({"bootstrap.servers": secured.cluster.bootstrap_servers})
    for number in range(_RECORDS):
        producer.produce(topic, str(number), partition=number % 2)
    producer.flush()
    way = secured.ways_in("http://127.0.0.1:1")[request.param]
    return {**way, "group.id": topic, "auto.offset.reset": "earliest"}


def test_a_pipeline_reads_every_record(spark: SparkSession, config: dict[str, Any]) -> None:
    """Its members, its readers on executors, and the driver that asks for offsets."""
    read: list[str] = []

    def keep(rows: DataFrame, _epoch: int, _ranges: Sequence[OffsetRange]) -> None:
        read.extend(row["value"].decode() for row in rows.select("value").collect())

    pipeline = epochs(
        spark, keep, config=config, topics=[config["group.id"]], name="secured", slots=2, available_now=True
    )
    pipeline.wait(PATIENCE_S)
    assert sorted(map(int, read)) == list(range(_RECORDS))


def test_slots_read_every_record_and_no_secret_is_told(
    spark: SparkSession, config: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The keys travel with the task; a callback that gets tokens does so by its name."""
    caplog.set_level(logging.DEBUG)
    place = str(tmp_path)

    def handle(messages: list[Message], slot: Slot) -> None:
        with Path(place, f"slot-{slot.number}").open("a") as file:
            file.writelines(json.dumps((message.value() or b"").decode()) + "\n" for message in messages)

    with consume(
        spark,
        slots=2,
        name="secured",
        config=config,
        topics=[config["group.id"]],
        handle=handle,
        records="messages",
    ) as job:
        eventually(lambda: len(_written(tmp_path)) >= _RECORDS, "every record", PATIENCE_S)
        shown = str(job) + repr(job)
    assert sorted(map(int, _written(tmp_path))) == list(range(_RECORDS))
    assert SCRAM_PASSWORD not in shown + caplog.text


def _written(place: Path) -> list[str]:
    return [json.loads(line) for file in place.glob("slot-*") for line in file.read_text().splitlines()]
