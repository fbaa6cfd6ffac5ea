"""ParquetSink: each epoch is a directory that becomes visible with its rows and offset ranges, in one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike

from pyspark.sql import DataFrame

from membership_client import ConfigError
from membership_client.arguments import shown
from membership_client_spark.arguments import checked_names, checked_path
from membership_client_spark.parquet.storage import NAME, Storage, directory_of, open_storage
from membership_client_spark.pipeline.interface import PipelineRun
from membership_client_spark.pipeline.manifest import Manifest, ManifestError
from membership_client_spark.pipeline.manifest_sink import ManifestSink, Transform

_EPOCH_COLUMN = "epoch"
"""Spark reads it from the names of directories; it hides a column of that name in the files, in upper or lower case."""


class ParquetSink(ManifestSink):
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
        self._path = checked_path("path", path)
        super().__init__(self._path, transform)
        self._partition_by = _checked_partition_by(partition_by)

    def _open(self, run: PipelineRun) -> Directories:
        return Directories(open_storage(run.spark, self._path), self._path, self._partition_by)

    def _rows(self, df: DataFrame) -> DataFrame:
        rows = super()._rows(df)
        if hidden := [column for column in rows.columns if column.lower() == _EPOCH_COLUMN]:
            raise ConfigError(
                f"The rows of an epoch cannot have the column {hidden[0]}: readers see the id of the epoch in that column, "
                "and not what was written. Rename the column in transform."
            )
        return rows


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


class Directories:
    """The epochs of a path: the rows are written beside them first, and then moved to them."""

    def __init__(self, storage: Storage, path: str, partition_by: tuple[str, ...]) -> None:
        self._storage = storage
        self._path = path
        self._partition_by = partition_by

    def newest(self) -> Manifest | None:
        """ManifestError if the newest epoch has none: without it, all records would be read again."""
        newest = max(self._storage.epochs(), default=None)
        if newest is None:
            return None
        found = self.manifest(newest)
        if found is None:
            raise ManifestError(
                f"{self._path} has a directory of epoch {newest}, but no {directory_of(newest)}/{NAME}."
            )
        return found

    def manifest(self, epoch: int) -> Manifest | None:
        text = self._storage.manifest(epoch)
        try:
            return None if text is None else Manifest.from_text(text, epoch)
        except ManifestError as error:
            raise ManifestError(f"{self._path}/{directory_of(epoch)}/{NAME}: {error.detail}") from error

    def publish(self, rows: DataFrame, manifest: Manifest, check: Callable[[], None]) -> bool:
        if self.manifest(manifest.epoch) is not None:
            return False
        rows.write.partitionBy(*self._partition_by).parquet(self._storage.place_for(manifest.run))
        check()
        return self._storage.publish(manifest.run, manifest.epoch, manifest.to_text())

    def clean(self, group: str) -> None:
        self._storage.clean(group)
