"""ParquetSink: each epoch is a directory that appears with its rows and its offset ranges, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from types import MappingProxyType

from pyspark.sql import DataFrame

from membership_client import ConfigError, TopicPartition
from membership_client_spark.parquet.manifest import Manifest, with_ranges
from membership_client_spark.parquet.opening import open_storage
from membership_client_spark.parquet.storage import Storage, new_attempt
from membership_client_spark.pipeline.errors import EpochTakenError, ForeignSinkError
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.resuming import PipelineRun, Published

Transform = Callable[[DataFrame], DataFrame]


class ParquetSink:
    """Give it to `epochs` as its `foreach_epoch`, itself and not wrapped: then each record is in `path` exactly once.

    `spark.read.parquet(path)` sees published epochs only, with their id in the column `epoch`. `transform` makes what is
    written out of an epoch's records; `partition_by` names columns of that by which directories are made within an epoch.
    One path belongs to one group. Its newest epoch must not be deleted: it knows where to go on.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        transform: Transform | None = None,
        partition_by: Sequence[str] = (),
    ) -> None:
        self._path = fspath(path)
        self._transform = transform
        self._partition_by = tuple(partition_by)
        self._opened: tuple[PipelineRun, Storage] | None = None
        self._ends: Mapping[TopicPartition, int] = MappingProxyType({})

    def resume(self, run: PipelineRun) -> Published:
        """What is published. Attempts of this group's drivers that did not finish are deleted.

        Raises ForeignSinkError, and deletes nothing, if the path has epochs of another group.
        """
        storage = open_storage(run.spark, self._path)
        newest = _manifest(storage, max(storage.epochs(), default=0))
        self._refuse_foreign(newest, run)
        storage.clean(run.group_id)
        self._opened = run, storage
        self._ends = newest.ends if newest else {}
        return Published(newest.epoch if newest else 0, self._ends)

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        """Write and publish; nothing if the epoch is there with the same ranges."""
        if self._opened is None:
            raise ConfigError("A ParquetSink is given to epochs() itself, not called by another function.")
        run, storage = self._opened
        if self._is_there(epoch_id, offset_ranges):
            return
        attempt = new_attempt(epoch_id, run.group_id)
        rows = self._transform(df) if self._transform else df
        rows.write.partitionBy(*self._partition_by).parquet(storage.place_for(attempt))
        ends = with_ranges(self._ends, offset_ranges)
        told = Manifest(epoch=epoch_id, group=run.group_id, run=attempt, ranges=offset_ranges, ends=ends)
        run.check()
        if storage.publish(attempt, epoch_id, told.to_text()):
            self._ends = ends
        elif not self._is_there(epoch_id, offset_ranges):
            raise AssertionError(f"{self._path}: epoch {epoch_id} is there and not there")

    def _refuse_foreign(self, found: Manifest | None, run: PipelineRun) -> None:
        if found is not None and found.group != run.group_id:
            raise ForeignSinkError(f"{self._path} has epochs of group {found.group}; this is {run.group_id}.")

    def _is_there(self, epoch: int, ranges: tuple[OffsetRange, ...]) -> bool:
        """EpochTakenError if it is, with other ranges; ForeignSinkError if it is another group's."""
        assert self._opened is not None
        run, storage = self._opened
        found = _manifest(storage, epoch)
        if found is None:
            return False
        self._refuse_foreign(found, run)
        if found.ranges != tuple(ranges):
            raise EpochTakenError(f"{self._path} has epoch {epoch} already, by {found.run}.")
        self._ends = found.ends
        return True


def _manifest(storage: Storage, epoch: int) -> Manifest | None:
    text = storage.manifest(epoch)
    return None if text is None else Manifest.from_text(text)
