"""PostgresSink: each epoch is one transaction of a PostgreSQL database, which has the rows, the epoch's id, and its offset ranges."""

from __future__ import annotations

from collections.abc import Mapping

from membership_client import ConfigError
from membership_client.arguments import is_text, plain, shown
from membership_client_spark.pipeline.interface import PipelineRun
from membership_client_spark.pipeline.manifest_sink import ManifestSink, Transform
from membership_client_spark.postgres.database import Database
from membership_client_spark.postgres.table import PostgresTable

_URL = "jdbc:postgresql:"

_OURS = frozenset(
    {"url", "dbtable", "query", "isolationlevel", "truncate", "cascadetruncate", "createtableoptions", "preparequery"}
)
"""Options of Spark's JDBC writer with which a task would not be one transaction into a table of the sink's own."""


class PostgresSink(ManifestSink):
    """Give it to `epochs` as its `foreach_epoch`, itself and not wrapped: then each record is in the table exactly once.

    `url` begins with `jdbc:postgresql:`; `table` must be there. `properties` are those of Spark's JDBC writer and of
    PostgreSQL's JDBC driver, such as `user` and `password`. `transform` returns the rows to write for an epoch's records.
    These are inserted; or `merge`, SQL of PostgreSQL with `{table}` and `{rows}` in it, says what to do with them, in the
    same transaction. One table belongs to one group.
    """

    def __init__(
        self,
        url: str,
        table: str,
        *,
        properties: Mapping[str, str] | None = None,
        transform: Transform | None = None,
        merge: str | None = None,
    ) -> None:
        self._url = _checked_url(url)
        self._table = _checked_text("table", table)
        self._properties = _checked_properties(properties)
        self._merge = None if merge is None else _checked_statement(merge)
        super().__init__(self._table, transform)

    def _open(self, run: PipelineRun) -> PostgresTable:
        return PostgresTable(Database(run.spark, self._url, self._properties), run.group_id, self._table, self._merge)


def _checked_text(argument: str, value: object) -> str:
    if not isinstance(value, str) or not is_text(value) or "\0" in value:
        raise ConfigError(f"{argument} must be a text, not {shown(value)}.")
    return plain(value)


def _checked_url(value: object) -> str:
    # Not shown: it may have a password in it.
    if not isinstance(value, str) or not is_text(value) or not value.startswith(_URL):
        raise ConfigError(
            f"url must begin with {_URL}, as in jdbc:postgresql://host/database. PostgresSink is for no other database."
        )
    return plain(value)


def _checked_properties(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(is_text(text) for item in value.items() for text in item):
        raise ConfigError(
            "properties must be a mapping of names to texts, such as {'user': 'shop', 'password': '...'}."
        )
    taken = sorted(name for name in value if name.lower() in _OURS)
    if taken:
        raise ConfigError(f"properties cannot have {', '.join(taken)}: PostgresSink sets that itself.")
    return {plain(name): plain(text) for name, text in value.items()}


def _checked_statement(value: object) -> str:
    if not isinstance(value, str) or "\0" in value or "{table}" not in value or "{rows}" not in value:
        raise ConfigError(f"merge must be SQL of PostgreSQL with {{table}} and {{rows}} in it, not {shown(value)}.")
    return value
