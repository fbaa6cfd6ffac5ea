"""IcebergSink: each epoch is one snapshot of an Iceberg table, which has the rows, the epoch's id, and its offset ranges."""

from __future__ import annotations

from membership_client import ConfigError
from membership_client.arguments import is_text, plain, shown
from membership_client_spark.arguments import checked_statement
from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.iceberg.table import IcebergAppend, IcebergStatement, IcebergTable
from membership_client_spark.pipeline.interface import PipelineRun
from membership_client_spark.pipeline.manifest_sink import ManifestSink, Transform
from membership_client_spark.spark_session import is_connect


class IcebergSink(ManifestSink):
    """Give it to `epochs` as its `foreach_epoch`, itself and not wrapped: then each record is in the table exactly once.

    `table` is the name of a table that is there. `transform` returns the rows to write for an epoch's records. These are
    appended; or `merge`, a statement MERGE or INSERT with `{table}` and `{rows}` in it, says what to do with them. Other
    programs may write to the table meanwhile; then the epoch is written again. One table belongs to one group.
    """

    def __init__(self, table: str, *, transform: Transform | None = None, merge: str | None = None) -> None:
        self._table = _checked_name(table)
        super().__init__(self._table, transform)
        self._merge = None if merge is None else checked_statement(merge)

    def _open(self, run: PipelineRun) -> IcebergTable:
        if is_connect(run.spark):
            raise SparkSettingsError(
                "An IcebergSink publishes by Iceberg's Java interface, which a client of Spark Connect does not have. Run the "
                "driver as a classic one."
            )
        writer = IcebergAppend() if self._merge is None else IcebergStatement(self._merge)
        return IcebergTable(run.spark, run.group_id, self._table, writer)


def _checked_name(value: object) -> str:
    if not is_text(value):
        raise ConfigError(f"table must be the name of a table, such as lake.shop.orders, not {shown(value)}.")
    return plain(value)
