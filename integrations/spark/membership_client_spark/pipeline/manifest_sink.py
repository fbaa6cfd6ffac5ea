"""What all our sinks share: an epoch is published once, in one step, together with its manifest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from pyspark.sql import DataFrame

from membership_client import ConfigError, TopicPartition
from membership_client.arguments import checked_function, shown
from membership_client_spark.errors import EpochTakenError, ForeignSinkError
from membership_client_spark.pipeline.interface import PipelineRun, Published
from membership_client_spark.pipeline.manifest import Manifest, ManifestError, new_attempt, with_ranges
from membership_client_spark.pipeline.ranges import OffsetRange

Transform = Callable[[DataFrame], DataFrame]


class SinkTarget(Protocol):
    """Where the epochs of one sink are."""

    def newest(self) -> Manifest | None:
        """Of the newest published epoch, whichever group published it. ManifestError if it cannot be read."""

    def manifest(self, epoch: int) -> Manifest | None:
        """Of a published epoch; a manifest of another group if there are some of that; None if the epoch is not published."""

    def publish(self, rows: DataFrame, manifest: Manifest, check: Callable[[], None]) -> bool:
        """Makes rows and manifest visible in one step, and calls `check` before that.

        False, and nothing is visible, if the epoch was published before.
        """

    def clean(self, group: str) -> None:
        """Deletes what unfinished attempts of that group have left."""


class ManifestSink(ABC):
    """A `Resumable`; a subclass says where the epochs are. Belongs to the pipeline's thread."""

    def __init__(self, place: str, transform: Transform | None) -> None:
        if transform is not None:
            checked_function("transform", transform, of="an epoch's DataFrame")
        self._place = place
        self._transform = transform
        self._opened: tuple[PipelineRun, SinkTarget] | None = None
        self._ends: Mapping[TopicPartition, int] = MappingProxyType({})

    @abstractmethod
    def _open(self, run: PipelineRun) -> SinkTarget:
        """The target, for this run."""

    def resume(self, run: PipelineRun) -> Published:
        """What is published. Deletes unfinished attempts of this group's drivers.

        Raises ForeignSinkError, and deletes nothing, if there are epochs of another group; ManifestError, and deletes
        nothing, if the manifest of the newest epoch is missing or damaged.
        """
        target = self._open(run)
        newest = target.newest()
        self._refuse_foreign(newest, run)
        target.clean(run.group_id)
        self._opened = run, target
        self._ends = newest.ends if newest else {}
        return Published(newest.epoch if newest else 0, self._ends)

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        """Writes and publishes an epoch; does nothing if it is published with the same ranges."""
        if self._opened is None:
            raise ConfigError(f"{type(self).__name__} is given to epochs() itself, not called by another function.")
        run, target = self._opened
        manifest = Manifest(
            epoch=epoch_id,
            group=run.group_id,
            run=new_attempt(epoch_id, run.group_id),
            ranges=offset_ranges,
            ends=with_ranges(self._ends, offset_ranges),
        )
        if target.publish(self._rows(df), manifest, run.check):
            self._ends = manifest.ends
        elif not self._is_there(target.manifest(epoch_id), epoch_id, offset_ranges):
            raise ManifestError(f"{self._place}: epoch {epoch_id} is published already, but its manifest is not there.")

    def _rows(self, df: DataFrame) -> DataFrame:
        """The rows to write. ConfigError for what cannot be written."""
        rows: object = self._transform(df) if self._transform else df
        if not isinstance(rows, DataFrame):
            raise ConfigError(f"transform must return a DataFrame of Spark, not {shown(rows)}.")
        return rows

    def _refuse_foreign(self, found: Manifest | None, run: PipelineRun) -> None:
        if found is not None and found.group != run.group_id:
            raise ForeignSinkError(f"{self._place} has epochs of group {found.group}; this is {run.group_id}.")

    def _is_there(self, found: Manifest | None, epoch: int, ranges: tuple[OffsetRange, ...]) -> bool:
        """Whether the epoch is published. EpochTakenError if with other ranges; ForeignSinkError if by another group."""
        assert self._opened is not None
        if found is None:
            return False
        self._refuse_foreign(found, self._opened[0])
        if found.ranges != tuple(ranges):
            raise EpochTakenError(f"{self._place} has epoch {epoch} already, by {found.run}.")
        self._ends = found.ends
        return True
