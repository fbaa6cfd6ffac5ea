"""What a pipeline and the program that uses it tell each other: the progress, as values, and the interface of sinks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from pyspark.sql import SparkSession

from membership_client import MemberState, TopicPartition
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.tables import counted, html_table, text_table


@dataclass(frozen=True, slots=True)
class EpochReport:
    """One epoch that was committed."""

    epoch_id: int
    ranges: tuple[OffsetRange, ...]
    records: int
    """The number of offsets in the ranges: with compaction or transactions a little more than the number of records."""
    bytes: int | None
    """Estimated from samples; None without max_bytes."""
    seconds: float
    """From planning to the end of the commit."""

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotView:
    """One slot's member."""

    slot: int
    instance_id: str
    state: MemberState
    partitions: frozenset[TopicPartition]
    lag: int
    """Offsets that were in no committed epoch when the pipeline last checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochsProgress:
    """A pipeline at one moment."""

    epochs: int
    """How many epochs this run has committed."""
    records: int
    """How many records these epochs had."""
    last: EpochReport | None
    running: int | None
    """The epoch that is under way."""
    running_s: float | None = None
    """How long it has been under way, since it was planned."""
    slots: tuple[SlotView, ...]

    @property
    def lag(self) -> int:
        return sum(slot.lag for slot in self.slots)

    def __str__(self) -> str:
        return f"{self._summary()}\n{text_table(_HEADS, self._rows())}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return html_table(self._summary(), _HEADS, self._rows())

    def _summary(self) -> str:
        pace = f", {self.last.records_per_s:,.0f} records/s in the last one" if self.last else ""
        now = f"; epoch {self.running} is running" if self.running else ""
        return f"{counted(self.epochs, 'epoch')} with {counted(self.records, 'record')}{pace}{now}; lag {self.lag:,}"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (str(one.slot), one.instance_id, one.state.value, str(len(one.partitions)), f"{one.lag:,}")
            for one in self.slots
        ]


_HEADS = ("slot", "instance id", "state", "partitions", "lag")


class Tally:
    """Counts epochs, on the pipeline's thread; `progress` may be called on any."""

    def __init__(self) -> None:
        self._epochs = 0
        self._records = 0
        self._last: EpochReport | None = None
        self._running: tuple[int, float] | None = None

    def begin(self, epoch: int, began_at: float) -> None:
        """An epoch runs, which was planned at this moment of the monotonic clock."""
        self._running = epoch, began_at

    def end(self) -> None:
        """No epoch runs any more."""
        self._running = None

    def count(self, report: EpochReport) -> None:
        self._epochs += 1
        self._records += report.records
        self._last = report

    def progress(self, slots: tuple[SlotView, ...]) -> EpochsProgress:
        running = self._running
        return EpochsProgress(
            epochs=self._epochs,
            records=self._records,
            last=self._last,
            running=None if running is None else running[0],
            running_s=None if running is None else max(0.0, time.monotonic() - running[1]),
            slots=slots,
        )


# --- the interface of a sink that has each record exactly once, however the driver ends ------------------------------


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
