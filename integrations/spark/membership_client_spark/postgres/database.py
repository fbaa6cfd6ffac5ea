"""A PostgreSQL database, by the JDBC driver on Spark's class path: for the driver's own statements, and for Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.spark_session import is_connect, unlogged

_DRIVER = "org.postgresql.Driver"

_DEFAULTS = {
    # One INSERT for many rows instead of one for each; and a connection that is idle for minutes stays open.
    "reWriteBatchedInserts": "true",
    "tcpKeepAlive": "true",
}


class Database:
    """A database by its URL. SparkSettingsError over Spark Connect, whose clients have no JVM, and without the JDBC driver."""

    def __init__(self, spark: SparkSession, url: str, properties: Mapping[str, str]) -> None:
        if is_connect(spark):
            raise SparkSettingsError(
                "A PostgresSink has its transactions made by the driver's JVM, which a client of Spark Connect does not have. "
                "Run the driver as a classic one."
            )
        self._jvm = cast("Any", spark)._jvm  # noqa: SLF001 - Python has no other way to JDBC
        self._options = {"driver": _DRIVER, **_DEFAULTS, **properties, "url": url, "isolationLevel": "READ_COMMITTED"}
        self._check_driver()

    def _check_driver(self) -> None:
        try:
            self._java_options("none")
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "ClassNotFoundException":
                raise
            raise SparkSettingsError(
                f"{self._options['driver']} is not on Spark's class path. A PostgresSink needs PostgreSQL's JDBC driver: "
                "spark.jars.packages=org.postgresql:postgresql:42.7.14, or a newer one."
            ) from error

    def write(self, rows: DataFrame, table: str, mode: str) -> None:
        """Writes rows by Spark's tasks; each attempt of a task is one transaction."""
        with unlogged():
            rows.write.format("jdbc").options(**self._options, dbtable=table).mode(mode).save()

    @contextmanager
    def connected(self) -> Iterator[DatabaseConnection]:
        """A connection on which each statement is a transaction of its own."""
        options = self._java_options("none")
        factory = self._jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(self._options["url"]).createConnectionFactory(
            options
        )
        java = factory.apply(-1)
        try:
            java.setAutoCommit(True)
            # After a wait for a lock, a statement must see what was committed meanwhile, whatever the database's default is.
            java.setTransactionIsolation(self._jvm.java.sql.Connection.TRANSACTION_READ_COMMITTED)
            yield DatabaseConnection(java)
        finally:
            java.close()

    def _java_options(self, table: str) -> Any:
        with unlogged():
            options = self._jvm.PythonUtils.toScalaMap(self._options)
            return self._jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(
                self._options["url"], table, options
            )


class DatabaseConnection:
    """A JDBC connection in the driver's JVM."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def execute(self, text: str) -> None:
        """Runs one statement as it is, with neither parameters nor JDBC's escapes."""
        statement = self._java.createStatement()
        statement.setEscapeProcessing(False)
        try:
            statement.execute(text)
        finally:
            statement.close()

    def query(self, text: str, *parameters: str) -> list[tuple[str, ...]]:
        """The rows, with all values as texts and NULL as the empty text. Each `?` takes the next parameter, a text."""
        statement = self._java.prepareStatement(text)
        try:
            for number, value in enumerate(parameters, 1):
                statement.setString(number, value)
            found = statement.executeQuery()
            columns = range(1, found.getMetaData().getColumnCount() + 1)
            rows = []
            while found.next():
                rows.append(tuple(found.getString(column) or "" for column in columns))
            return rows
        finally:
            statement.close()
