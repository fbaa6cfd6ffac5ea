"""Kafka group membership for Spark jobs: a slot keeps its identity when its executor is lost."""

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
)
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
from membership_client_spark.pipeline.manifest import ManifestError
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.slot import Slot
from membership_client_spark.slot_progress import SlotProgress

__all__ = [
    "Audit",
    "AuditSummary",
    "AuditTargetError",
    "DeltaSink",
    "EpochReport",
    "EpochTakenError",
    "Epochs",
    "EpochsProgress",
    "ForeignSinkError",
    "ManifestError",
    "NoOffsetError",
    "NoTracesError",
    "OffsetBeyondEndError",
    "OffsetRange",
    "OffsetsGoneError",
    "ParquetSink",
    "PipelineRun",
    "Published",
    "Resumable",
    "Slot",
    "SlotFailedError",
    "SlotJob",
    "SlotProgress",
    "SlotView",
    "SparkSettingsError",
    "SupersededError",
    "audit",
    "consume",
    "epochs",
    "slot_instance_id",
]
