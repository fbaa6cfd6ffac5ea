"""An epoch as a DataFrame of Spark's own Kafka source, which reads it without Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.spark_session import unlogged

_PATIENCE_MS = 60_000
"""A task that gets no record for so long fails, as with the Python reader."""


def native_frame(
    spark: SparkSession,
    ranges: Sequence[OffsetRange],
    options: Mapping[str, str],
    columns: Sequence[str],
    tasks: int | None,
) -> DataFrame:
    """The records of the ranges, in at least `tasks` tasks; by default one for each range.

    Spark asks the brokers for nothing but the partitions before it evaluates the DataFrame.
    """
    chosen = {
        "startingOffsets": _offsets((piece.topic, piece.partition, piece.start) for piece in ranges),
        "endingOffsets": _offsets((piece.topic, piece.partition, piece.end) for piece in ranges),
        "assign": json.dumps(_partitions(ranges)),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": str(_PATIENCE_MS),
        **({"minPartitions": str(tasks)} if tasks is not None and tasks > len(ranges) else {}),
    }
    with unlogged():
        return spark.read.format("kafka").options(**options, **chosen).load().select(*columns)


def has_kafka_source(spark: SparkSession) -> bool:
    """Whether spark-sql-kafka-0-10 is on the class path, of the server in the case of Spark Connect. Asks no broker."""
    named = {"kafka.bootstrap.servers": "127.0.0.1:1", "assign": '{"none":[0]}', "includeHeaders": "true"}
    try:
        return "headers" in spark.read.format("kafka").options(**named).load().columns
    except Exception:  # noqa: BLE001 - an incomplete source fails in many ways, and is none
        return False


def _offsets(places: Iterable[tuple[str, int, int]]) -> str:
    found: dict[str, dict[str, int]] = {}
    for topic, partition, offset in places:
        found.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(found)


def _partitions(ranges: Iterable[OffsetRange]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for piece in ranges:
        found.setdefault(piece.topic, []).append(piece.partition)
    return found
