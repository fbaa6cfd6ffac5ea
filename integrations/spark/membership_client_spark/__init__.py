"""Kafka group membership for Spark jobs: a slot keeps its identity when its executor is lost."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import membership_client_spark.extra  # noqa: F401 - first, so that its error names a missing package
from membership_client_spark.audit import Audit, AuditSummary, AuditTargetError, NoTracesError, audit
from membership_client_spark.consume import SlotJob, consume
from membership_client_spark.delta.sink import DeltaSink
from membership_client_spark.epochs import Epochs, epochs
from membership_client_spark.errors import (
    EpochTakenError,
    ForeignSinkError,
    NoOffsetError,
    OffsetBeyondEndError,
    OffsetsGoneError,
    SlotFailedError,
    SparkSettingsError,
    SupersededError,
    TopicRecreatedError,
)
from membership_client_spark.iceberg.sink import IcebergSink
from membership_client_spark.incarnation import slot_instance_id
from membership_client_spark.parquet.sink import ParquetSink
from membership_client_spark.pipeline.interface import (
    EpochReport,
    EpochsProgress,
    PipelineRun,
    Published,
    Resumable,
    SlotView,
)
from membership_client_spark.pipeline.listener import (
    EpochCommitted,
    EpochsListener,
    PipelineEnded,
    PipelineStarted,
)
from membership_client_spark.pipeline.manifest import ManifestError
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.postgres.sink import PostgresSink
from membership_client_spark.slot import Slot
from membership_client_spark.slot_progress import SlotProgress

if TYPE_CHECKING:
    from membership_client_spark.stream.source import KafkaGroupSource

__all__ = [
    "Audit",
    "AuditSummary",
    "AuditTargetError",
    "DeltaSink",
    "EpochCommitted",
    "EpochReport",
    "EpochTakenError",
    "Epochs",
    "EpochsListener",
    "EpochsProgress",
    "ForeignSinkError",
    "IcebergSink",
    "KafkaGroupSource",
    "ManifestError",
    "NoOffsetError",
    "NoTracesError",
    "OffsetBeyondEndError",
    "OffsetRange",
    "OffsetsGoneError",
    "ParquetSink",
    "PipelineEnded",
    "PipelineRun",
    "PipelineStarted",
    "PostgresSink",
    "Published",
    "Resumable",
    "Slot",
    "SlotFailedError",
    "SlotJob",
    "SlotProgress",
    "SlotView",
    "SparkSettingsError",
    "SupersededError",
    "TopicRecreatedError",
    "audit",
    "consume",
    "epochs",
    "slot_instance_id",
]

# Before pyspark 4.2, `import *` would fail because of the stream.
if not TYPE_CHECKING and find_spec("pyspark.sql.streaming.datasource") is None:
    __all__.remove("KafkaGroupSource")  # noqa: PYI056 - type checkers see the newest pyspark


def __getattr__(name: str) -> Any:
    """`KafkaGroupSource` when it is first used: pyspark before 4.2 has no such sources, and all the rest works there."""
    if name != "KafkaGroupSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from membership_client_spark.stream.source import KafkaGroupSource  # noqa: PLC0415 - not for older pyspark
    except ImportError as error:
        raise ImportError("KafkaGroupSource needs pyspark 4.2 or newer; epochs() works with older ones.") from error
    return KafkaGroupSource
