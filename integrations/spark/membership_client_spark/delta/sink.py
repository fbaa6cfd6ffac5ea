"""DeltaSink: each epoch is one commit of a Delta table, which has the rows, the epoch's id, and its offset ranges."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from membership_client import ConfigError
from membership_client_spark.arguments import checked_names, checked_path, checked_statement
from membership_client_spark.delta.table import DeltaAppend, DeltaStatement, DeltaTable, DeltaWriter
from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.pipeline.interface import PipelineRun
from membership_client_spark.pipeline.manifest_sink import ManifestSink, Transform
from membership_client_spark.spark_session import is_connect, with_scheme


class DeltaSink(ManifestSink):
    """Give it to `epochs` as its `foreach_epoch`, itself and not wrapped: then each record is in the table exactly once.

    `table` is a path if it has a slash, and the name of a table if not; the first epoch creates what is not there.
    `transform` returns the rows to write for an epoch's records. These are appended, in a new table partitioned by the
    columns `partition_by`; or `merge`, a statement MERGE or INSERT with `{table}` and `{rows}` in it, says what to do with them.
    Other programs may write to the table, optimize and vacuum it meanwhile. One table belongs to one group.
    """

    def __init__(
        self,
        table: str | PathLike[str],
        *,
        transform: Transform | None = None,
        partition_by: Sequence[str] = (),
        merge: str | None = None,
    ) -> None:
        self._table = checked_path("table", table)
        super().__init__(self._table, transform)
        self._is_path = not isinstance(table, str) or "/" in self._table
        self._partition_by = checked_names("partition_by", partition_by)
        self._merge = None if merge is None else checked_statement(merge)
        if self._merge is not None and self._partition_by:
            raise ConfigError("partition_by is for tables that the sink creates, and merge needs one that is there.")

    def _open(self, run: PipelineRun) -> DeltaTable:
        path = with_scheme(run.spark, self._table) if self._is_path else None
        name = self._table if path is None else f"delta.`{path.replace('`', '``')}`"
        table = DeltaTable(run.spark, run.group_id, name, self._writer(name, path))
        if self._merge is not None:
            self._check_merge(table, run)
        return table

    def _writer(self, name: str, path: str | None) -> DeltaWriter:
        if self._merge is None:
            return DeltaAppend(name, path, self._partition_by)
        return DeltaStatement(self._merge.replace("{table}", name))

    def _check_merge(self, table: DeltaTable, run: PipelineRun) -> None:
        if is_connect(run.spark):
            raise SparkSettingsError(
                "merge needs a session of its own, which Spark Connect cannot make out of another. Run the driver as a classic "
                "one, or leave merge out and append."
            )
        if not table.exists():
            raise ConfigError(
                f"merge needs a table, and there is no {self._table}. Create it, with its schema, before."
            )
