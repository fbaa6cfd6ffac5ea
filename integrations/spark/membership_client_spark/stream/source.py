"""`KafkaGroupSource`: a topic as a streaming DataFrame, read by the static members of a consumer group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from membership_client import ConfigError
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.reading import read_ranges
from membership_client_spark.stream.offsets import StreamOffset
from membership_client_spark.stream.options import StreamSettings, stream_settings
from membership_client_spark.stream.planner import Planner
from membership_client_spark.stream.process import end_in_order, ending, without_traceback
from membership_client_spark.stream.rows import as_columns, columns, ddl


class KafkaGroupSource(DataSource):
    """`spark.dataSource.register(KafkaGroupSource)`, and then `spark.readStream.format("kafka-group")`.

    The class is sent to processes of Spark by its name, so the Python of the driver's and the executors' hosts needs
    membership-client[spark].
    """

    @classmethod
    def name(cls) -> str:
        return "kafka-group"

    def schema(self) -> str:
        """Called by `load()`, on the driver: so this is where wrong options are told."""
        with without_traceback():
            return ddl(with_headers=stream_settings(self.options).with_headers)

    def streamReader(self, schema: StructType) -> KafkaGroupReader:  # noqa: N802 - Spark's name
        """Spark 4.3 replaces what is raised here by an error of its own, so the reader's first call raises it."""
        try:
            return KafkaGroupReader(_settings_for(self.options, schema))
        except ConfigError as error:
            return KafkaGroupReader(error)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark gives it by name
        with without_traceback():
            raise ConfigError("kafka-group is a stream: use readStream, or epochs() for batches.")


def _settings_for(options: Mapping[str, str], schema: StructType) -> StreamSettings:
    """ConfigError for wrong options, and for a schema of the user's own."""
    settings = stream_settings(options)
    if schema.fieldNames() != columns(with_headers=settings.with_headers).names:
        raise ConfigError("kafka-group has the columns of Spark's Kafka source: leave out schema().")
    return settings


class RangePartition(InputPartition):
    """The task that reads one range."""

    def __init__(self, piece: OffsetRange) -> None:
        self.value = piece


class KafkaGroupReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark makes one in the planner's process, and sends copies of another one to tasks, which only `read`."""

    def __init__(self, settings: StreamSettings | ConfigError) -> None:
        self._given = settings
        self._planner: Planner | None = None

    @property
    def _settings(self) -> StreamSettings:
        if isinstance(self._given, ConfigError):
            raise self._given
        return self._given

    # --- in the planner's process ------------------------------------------------------------------------------------

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        with without_traceback():
            self._planning().aim_at_ends()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        with without_traceback():
            most = self._settings.max_offsets
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        with without_traceback():
            return self._planning().first().to_json()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        with without_traceback():
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
            return self._planning().next(StreamOffset.from_json(start), most).to_json()

    def partitions(self, _: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges are in `end`, whatever the members own by now: a repeated batch has the same records."""
        with without_traceback():
            batch = StreamOffset.from_json(end)
            self._planning().repeat(batch)
            return [RangePartition(piece) for piece in batch.ranges]

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """For the query's progress."""
        return None if self._planner is None else StreamOffset(ends=self._planner.ends()).to_json()

    def commit(self, end: dict[str, Any]) -> None:
        """Spark calls this one batch late; `Planner.next` commits."""

    def stop(self) -> None:
        """The last call in the planner's process, unless that is killed."""
        if self._planner is not None:
            ending()
            self._planner.close("the query has ended")

    def _planning(self) -> Planner:
        if self._planner is None:
            end_in_order()
            self._planner = Planner(self._settings)
        return self._planner

    # --- in a task ---------------------------------------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = columns(with_headers=self._settings.with_headers)
        for batch in read_ranges(self._settings.clients.readers, [partition.value], schema.names):
            yield as_columns(batch, schema)
