"""ParquetSink: each epoch is a directory that becomes visible with its rows and offset ranges, in one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType

from pyspark.sql import DataFrame

from membership_client import ConfigError, TopicPartition
from membership_client.arguments import checked_function, shown
from membership_client_spark.arguments import checked_names, checked_path
from membership_client_spark.errors import EpochTakenError, ForeignSinkError
from membership_client_spark.parquet.storage import (
    NAME,
    Manifest,
    ManifestError,
    Storage,
    directory_of,
    new_attempt,
    open_storage,
    with_ranges,
)
from membership_client_spark.pipeline.interface import PipelineRun, Published
from membership_client_spark.pipeline.ranges import OffsetRange

Transform = Callable[[DataFrame], DataFrame]

_EPOCH_COLUMN = "epoch"
"""Spark reads it from the names of directories; it hides a column of that name in the files, in upper or lower case."""


class ParquetSink:
    """Give it to `epochs` as its `foreach_epoch`, itself and not wrapped: then each record is in `path` exactly once.

    `spark.read.parquet(path)` sees published epochs only, with their id in the column `epoch`. `transform` returns
    the rows to write for an epoch's records; `partition_by` names columns of these, by which an epoch is split into directories.
    No column may be called `epoch`, in upper or lower case: ConfigError, before anything of the epoch is written.
    One path belongs to one group. Its newest epoch must not be deleted: it has the offsets to go on from.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        transform: Transform | None = None,
        partition_by: Sequence[str] = (),
    ) -> None:
        if transform is not None:
            checked_function("transform", transform, of="an epoch's DataFrame")
        self._path = checked_path("path", path)
        self._transform = transform
        self._partition_by = _checked_partition_by(partition_by)
        self._opened: tuple[PipelineRun, Storage] | None = None
        self._ends: Mapping[TopicPartition, int] = MappingProxyType({})

    def resume(self, run: PipelineRun) -> Published:
        """What is published. Deletes unfinished attempts of this group's drivers.

        Raises ForeignSinkError, and deletes nothing, if the path has epochs of another group; ManifestError, and deletes
        nothing, if the manifest of the newest epoch is missing or damaged.
        """
        storage = open_storage(run.spark, self._path)
        newest = _newest(storage, self._path)
        self._refuse_foreign(newest, run)
        storage.clean(run.group_id)
        self._opened = run, storage
        self._ends = newest.ends if newest else {}
        return Published(newest.epoch if newest else 0, self._ends)

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        """Writes and publishes an epoch; does nothing if it is published with the same ranges."""
        if self._opened is None:
            raise ConfigError("A ParquetSink is given to epochs() itself, not called by another function.")
        run, storage = self._opened
        if self._is_there(epoch_id, offset_ranges):
            return
        attempt = new_attempt(epoch_id, run.group_id)
        rows = _checked_rows(self._transform(df) if self._transform else df)
        rows.write.partitionBy(*self._partition_by).parquet(storage.place_for(attempt))
        ends = with_ranges(self._ends, offset_ranges)
        manifest = Manifest(epoch=epoch_id, group=run.group_id, run=attempt, ranges=offset_ranges, ends=ends)
        run.check()
        if storage.publish(attempt, epoch_id, manifest.to_text()):
            self._ends = ends
        elif not self._is_there(epoch_id, offset_ranges):
            raise AssertionError(f"{self._path}: epoch {epoch_id} could not be published, but is not there either")

    def _refuse_foreign(self, found: Manifest | None, run: PipelineRun) -> None:
        if found is not None and found.group != run.group_id:
            raise ForeignSinkError(f"{self._path} has epochs of group {found.group}; this is {run.group_id}.")

    def _is_there(self, epoch: int, ranges: tuple[OffsetRange, ...]) -> bool:
        """Whether the epoch is published. EpochTakenError if with other ranges; ForeignSinkError if by another group."""
        assert self._opened is not None
        run, storage = self._opened
        found = _manifest(storage, epoch, self._path)
        if found is None:
            return False
        self._refuse_foreign(found, run)
        if found.ranges != tuple(ranges):
            raise EpochTakenError(f"{self._path} has epoch {epoch} already, by {found.run}.")
        self._ends = found.ends
        return True


def _checked_partition_by(value: object) -> tuple[str, ...]:
    names = checked_names("partition_by", value)
    spellings = [name.lower() for name in names]
    if _EPOCH_COLUMN in spellings:
        raise ConfigError(
            "partition_by cannot have epoch: each epoch is a directory already, and readers see its id in that column. "
            "Leave it out, or rename the column in transform."
        )
    if len(set(spellings)) < len(spellings):
        raise ConfigError(f"partition_by names a column twice, perhaps in upper and lower case: {shown(names)}.")
    return names


def _checked_rows(rows: object) -> DataFrame:
    if not isinstance(rows, DataFrame):
        raise ConfigError(f"transform must return a DataFrame of Spark, not {shown(rows)}.")
    if hidden := [column for column in rows.columns if column.lower() == _EPOCH_COLUMN]:
        raise ConfigError(
            f"The rows of an epoch cannot have the column {hidden[0]}: readers see the id of the epoch in that column, and "
            "not what was written. Rename the column in transform."
        )
    return rows


def _manifest(storage: Storage, epoch: int, path: str) -> Manifest | None:
    text = storage.manifest(epoch)
    try:
        return None if text is None else Manifest.from_text(text, epoch)
    except ManifestError as error:
        raise ManifestError(f"{path}/{directory_of(epoch)}/{NAME}: {error.detail}") from error


def _newest(storage: Storage, path: str) -> Manifest | None:
    """The manifest of the newest epoch. ManifestError if it has none: without it, all records would be read again."""
    newest = max(storage.epochs(), default=None)
    if newest is None:
        return None
    found = _manifest(storage, newest, path)
    if found is None:
        raise ManifestError(f"{path} has a directory of epoch {newest}, but no {directory_of(newest)}/{NAME}.")
    return found
