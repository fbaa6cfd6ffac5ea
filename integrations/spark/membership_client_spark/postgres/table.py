"""A PostgreSQL table as the place of a sink's epochs: one statement moves an epoch's rows into it and stores the manifest.

Spark's tasks write to a table of the attempt's own first, because many tasks cannot share a transaction. The move is a
single statement, so the database finishes or forgets it without the driver: one that is killed leaves no transaction open.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.functions import spark_partition_id

from membership_client import ConfigError
from membership_client_spark.pipeline.manifest import Manifest, ManifestError, is_attempt_of, new_attempt
from membership_client_spark.postgres.database import Database, DatabaseConnection

EPOCHS = "membership_client_epochs"
"""The table of published epochs, in the schema of the rows' table."""

_TASK, _TRANSACTION = "membership_client_task", "membership_client_transaction"
"""Columns of an attempt's table beside those of the rows: which task wrote the row, and in which transaction."""

_INVALID_NAME = "42602"
"""The code of PostgreSQL's error for a text that cannot be a name."""

logger = logging.getLogger("membership_client_spark")


class PostgresTable:
    """Belongs to the pipeline's thread. ConfigError if there is no such table."""

    def __init__(self, database: Database, group: str, table: str, merge: str | None) -> None:
        self._database = database
        self._group = group
        self._merge = merge
        with database.connected() as connection:
            self._schema, self._relation = _found(connection, table)
            self._name = f"{_quoted(self._schema)}.{_quoted(self._relation)}"
            self._epochs = f"{_quoted(self._schema)}.{EPOCHS}"
            self._create_epochs(connection)

    def newest(self) -> Manifest | None:
        return self._manifest("true")

    def manifest(self, epoch: int) -> Manifest | None:
        return self._manifest("(epoch = ?::bigint OR group_id <> ?)", str(epoch), self._group)

    def publish(self, rows: DataFrame, manifest: Manifest, check: Callable[[], None]) -> bool:
        if self.manifest(manifest.epoch) is not None:
            return False
        # Open before the first row is written: if the database crashes meanwhile, and forgets what tasks have committed
        # (synchronous_commit=off, a failover), the connection is lost as well, and nothing is moved.
        with self._database.connected() as connection:
            move = self._move(connection, rows.columns)
            with self._written(connection, rows, manifest.epoch) as view:
                check()
                return self._publish(connection, move.replace("{rows}", view), manifest)

    def clean(self, group: str) -> None:
        """Drops the tables of attempts for this table."""
        with self._database.connected() as connection:
            for (name,) in connection.query(
                "SELECT relname FROM pg_class WHERE relnamespace = ?::regnamespace AND relkind = 'r'",
                _quoted(self._schema),
            ):
                if is_attempt_of(self._writer_of(group), name):
                    self._drop(connection, name)

    # --- the attempt ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _written(self, connection: DatabaseConnection, rows: DataFrame, epoch: int) -> Iterator[str]:
        """Has Spark write the rows, and gives the name of a view of them.

        Spark's JDBC writer makes each attempt of a task a transaction, and may commit two attempts of one task: when the
        answer to the first is lost, or when it runs a second copy. The view has the rows of one of them.
        """
        name = new_attempt(epoch, self._writer_of(self._group))
        table, view = (f"{_quoted(self._schema)}.{_quoted(each)}" for each in (name, f"{name}-rows"))
        marked = rows.select("*", spark_partition_id().alias(_TASK))
        try:
            self._database.write(marked.limit(0), table, "errorifexists")
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {_TRANSACTION} bigint DEFAULT txid_current()")
            connection.execute(
                f"CREATE VIEW {view} AS SELECT {', '.join(map(_quoted, rows.columns))} FROM {table} WHERE "
                f"({_TASK}, {_TRANSACTION}) IN (SELECT {_TASK}, min({_TRANSACTION}) FROM {table} GROUP BY {_TASK})"
            )
            self._database.write(marked, table, "append")
            yield view
        finally:
            self._drop(connection, name)

    def _drop(self, connection: DatabaseConnection, name: str) -> None:
        """Drops the table of an attempt. If a task that Spark has given up still holds it, the next start drops it."""
        drop = f"DROP TABLE IF EXISTS {_quoted(self._schema)}.{_quoted(name)} CASCADE"
        try:
            connection.execute(f"DO $do$ BEGIN SET LOCAL lock_timeout = '5s'; {drop}; END $do$")
        except Py4JJavaError as error:
            logger.warning("%s: cannot drop the table %s of an attempt now: %s", self._name, name, error.java_exception)

    # --- its publication -----------------------------------------------------------------------------------------------

    def _publish(self, connection: DatabaseConnection, move: str, manifest: Manifest) -> bool:
        try:
            connection.execute(self._publishing(move, manifest))
        except Py4JJavaError:
            # Another driver's epoch, or ours after all: the answer to a commit may be lost on its way.
            if self.manifest(manifest.epoch) is None:
                raise
        return self._is_published(manifest)

    def _is_published(self, manifest: Manifest) -> bool:
        found = self.manifest(manifest.epoch)
        return found is not None and found.run == manifest.run

    def _publishing(self, move: str, manifest: Manifest) -> str:
        """The statement that publishes. It moves no row if this epoch, a later one or one of another group is in the table.

        Texts stand between random marks, which no text contains. EXECUTE refuses COMMIT and ROLLBACK.
        """
        mark = f"${'m' + uuid.uuid4().hex}$"
        relation, group, text = (f"{mark}{each}{mark}" for each in (self._relation, self._group, manifest.to_text()))
        return f"""DO $do{mark[1:]}
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended({mark}{self._name}{mark}, 0));
    IF EXISTS (SELECT FROM {self._epochs} WHERE relation = {relation} AND (epoch >= {manifest.epoch} OR group_id <> {group})) THEN
        RETURN;
    END IF;
    EXECUTE {mark}{move}{mark};
    INSERT INTO {self._epochs} (relation, epoch, group_id, manifest) VALUES ({relation}, {manifest.epoch}, {group}, {text});
END
$do{mark[1:]}"""

    def _move(self, connection: DatabaseConnection, columns: Sequence[str]) -> str:
        """The statement that puts the rows of a view, `{rows}`, into the table. ConfigError if they do not fit."""
        if self._merge is not None:
            return self._merge.replace("{table}", self._name)
        found = connection.query(
            "SELECT attname, format_type(atttypid, -1) FROM pg_attribute "
            "WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            self._name,
        )
        types = {row[0]: row[1] for row in found}
        names = [self._column(column, types) for column in columns]
        values = [f"CAST(r.{_quoted(column)} AS {types[name]})" for column, name in zip(columns, names, strict=True)]
        return (
            f"INSERT INTO {self._name} ({', '.join(map(_quoted, names))}) SELECT {', '.join(values)} FROM {{rows}} AS r"
        )

    def _column(self, name: str, there: dict[str, str]) -> str:
        """The table's column for one of the rows: of the same name, or else of the only one in other letters."""
        found = [name] if name in there else [each for each in there if each.lower() == name.lower()]
        if len(found) != 1:
            raise ConfigError(
                f"The rows have the column {name}, and {self._name} has {', '.join(there)}. Rename it in transform, or say "
                "with merge where it goes."
            )
        return found[0]

    # --- published epochs ----------------------------------------------------------------------------------------------

    def _manifest(self, condition: str, *parameters: str) -> Manifest | None:
        """The newest manifest for which the condition holds."""
        text = (
            f"SELECT epoch, manifest FROM {self._epochs} WHERE relation = ? AND {condition} ORDER BY epoch DESC LIMIT 1"
        )
        with self._database.connected() as connection:
            for epoch, found in connection.query(text, self._relation, *parameters):
                try:
                    return Manifest.from_text(found, int(epoch))
                except ManifestError as error:
                    raise ManifestError(f"{self._epochs}, epoch {epoch} of {self._relation}: {error.detail}") from error
        return None

    def _create_epochs(self, connection: DatabaseConnection) -> None:
        exists = "SELECT 1 FROM pg_class WHERE oid = to_regclass(?)"
        if connection.query(exists, self._epochs):
            return
        try:
            connection.execute(
                f"CREATE TABLE {self._epochs} (relation text NOT NULL, epoch bigint NOT NULL, group_id text NOT NULL, "
                "manifest text NOT NULL, published_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (relation, epoch))"
            )
        except Py4JJavaError:  # Perhaps another driver has just made it.
            if not connection.query(exists, self._epochs):
                raise

    def _writer_of(self, group: str) -> str:
        """A schema may have the tables of several sinks, and one group may write to several of these."""
        return f"{group} {self._relation}"


def _found(connection: DatabaseConnection, table: str) -> tuple[str, str]:
    """The schema and the name of the table, as PostgreSQL resolves them."""
    try:
        relations = connection.query(
            "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE c.oid = to_regclass(?)",
            table,
        )
    except Py4JJavaError as error:
        if error.java_exception.getSQLState() != _INVALID_NAME:
            raise
        relations = []
    if not relations:
        raise ConfigError(f"There is no table {table} in this database. Create it, with its keys, before.")
    schema, relation = relations[0]
    return schema, relation


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
