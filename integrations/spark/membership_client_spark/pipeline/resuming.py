"""The interface of a sink that has each record exactly once, however the driver ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from pyspark.sql import SparkSession

from membership_client import TopicPartition


@dataclass(frozen=True, slots=True)
class Published:
    """What a sink has: its last epoch (0 if none), and the next offset of each partition that any of its epochs had."""

    epoch: int = 0
    ends: Mapping[TopicPartition, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """One run of a pipeline, as its sink sees it."""

    spark: SparkSession
    group_id: str
    check: Callable[[], None]
    """Raises if a newer driver runs this pipeline. A sink calls it right before it publishes."""


@runtime_checkable
class Resumable(Protocol):
    """A `foreach_epoch` that knows what it has published. Rows and ranges of an epoch become visible in one step.

    It returns if the epoch is published with the same ranges, and raises EpochTakenError if with others.
    """

    def resume(self, run: PipelineRun) -> Published:
        """Called on the pipeline's thread before the first epoch, and after each EpochTakenError."""
