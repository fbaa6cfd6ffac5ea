"""Which reader makes the DataFrames of epochs: Spark's own Kafka source, or Python workers with confluent-kafka."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from membership_client import ConfigError
from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.pipeline.java_options import NotTranslatableError, has_secrets, java_options
from membership_client_spark.pipeline.native_reading import has_kafka_source, native_frame
from membership_client_spark.pipeline.ranges import OffsetRange, offsets_in
from membership_client_spark.pipeline.read_tasks import default_tasks, share
from membership_client_spark.pipeline.reading import epoch_frame
from membership_client_spark.spark_session import default_parallelism, is_connect

ReaderChoice = Literal["auto", "spark", "python"]

READERS: tuple[ReaderChoice, ...] = ("auto", "spark", "python")

logger = logging.getLogger("membership_client_spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How epochs are read, as the user wants it."""

    columns: tuple[str, ...]
    tasks: int | None
    """How many tasks read an epoch; None for as many as pay."""


@dataclass(frozen=True, slots=True)
class NativeReader:
    """Spark's own batch source."""

    spark: SparkSession
    reading: ReadSettings
    options: Mapping[str, str] = field(repr=False)
    """They may have secrets."""
    uses_python = False

    def frame(self, ranges: Sequence[OffsetRange], slots: int) -> DataFrame:
        tasks = self.reading.tasks or default_tasks(offsets_in(ranges), slots, default_parallelism(self.spark))
        return native_frame(self.spark, ranges, self.options, self.reading.columns, tasks)


@dataclass(frozen=True, slots=True)
class PythonReader:
    """Tasks of ours, in Python workers."""

    spark: SparkSession
    reading: ReadSettings
    config: Mapping[str, Any] = field(repr=False)
    """It may have secrets."""
    uses_python = True

    def frame(self, ranges: Sequence[OffsetRange], slots: int) -> DataFrame:
        tasks = self.reading.tasks or default_tasks(offsets_in(ranges), slots, default_parallelism(self.spark))
        return epoch_frame(self.spark, share(ranges, tasks), self.config, self.reading.columns)


Reader = NativeReader | PythonReader


def reader_of(choice: str, spark: SparkSession, config: Mapping[str, Any], reading: ReadSettings, name: str) -> Reader:
    """The reader that was chosen, or the faster one that can be used; the log says which.

    SparkSettingsError if Spark's own source is wanted and not there, ConfigError if it cannot be used with `config`.
    """
    python = PythonReader(spark, reading, config)
    if choice == "python":
        return python
    try:
        reader: Reader = NativeReader(spark, reading, _options(spark, config))
    except ConfigError as error:
        if choice == "spark":
            raise
        logger.info("[%s] epochs are read by Python workers: %s", name, error)
        return python
    logger.info("[%s] epochs are read by Spark's own Kafka source", name)
    return reader


def _options(spark: SparkSession, config: Mapping[str, Any]) -> dict[str, str]:
    try:
        options = java_options(config)
    except NotTranslatableError as error:
        raise ConfigError(
            f"{error.detail}, so Spark's own Kafka source cannot be used. Take reader='python'."
        ) from None
    if has_secrets(options) and is_connect(spark):
        raise ConfigError(
            "Over Spark Connect the options of Spark's own Kafka source are shown in the server's UI, and this configuration has secrets. "
            "Take reader='python'."
        )
    if not has_kafka_source(spark):
        raise SparkSettingsError(
            "The session has no Kafka source: add org.apache.spark:spark-sql-kafka-0-10_2.13 of your Spark's version to "
            "spark.jars.packages, or take reader='python'."
        )
    return options
