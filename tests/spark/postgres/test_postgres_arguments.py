"""What a PostgresSink refuses at once, without a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from membership_client import ConfigError
from membership_client_spark import OffsetRange, PipelineRun, PostgresSink, SparkSettingsError

URL = "jdbc:postgresql://127.0.0.1/shop"


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1/shop", "jdbc:mysql://127.0.0.1/shop", ""])
def test_another_database_is_refused(url: str) -> None:
    """The sink relies on what PostgreSQL alone has. The text does not show the URL, which may have a password."""
    with pytest.raises(ConfigError, match="url must begin with jdbc:postgresql:") as raised:
        PostgresSink(f"{url}?password=secret", "orders")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("name", ["dbtable", "isolationLevel", "TRUNCATE"])
def test_properties_that_are_the_sinks_own_are_refused(name: str) -> None:
    """With isolationLevel=NONE a task would commit row by row, and the rows of one that failed would be there twice."""
    with pytest.raises(ConfigError, match=f"properties cannot have {name}"):
        PostgresSink(URL, "orders", properties={"user": "shop", name: "x"})


def test_an_error_about_properties_does_not_show_them() -> None:
    """One of them is a password."""
    wrong: Any = {"password": "secret", "batchsize": 5}
    with pytest.raises(ConfigError, match="properties must be a mapping of names to texts") as raised:
        PostgresSink(URL, "orders", properties=wrong)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("statement", ["INSERT INTO orders SELECT * FROM {rows}", "DELETE FROM {table}", " "])
def test_a_statement_without_its_table_or_rows_is_refused(statement: str) -> None:
    """It would do something else than to write the rows of the epoch to the table of this sink."""
    with pytest.raises(ConfigError, match=r"merge must be SQL of PostgreSQL with \{table\} and \{rows\}"):
        PostgresSink(URL, "orders", merge=statement)


def test_a_sink_that_another_function_calls_is_refused() -> None:
    """It would not be asked where to go on, and would write what is there already."""
    with pytest.raises(ConfigError, match="PostgresSink is given to epochs"):
        PostgresSink(URL, "orders")(cast("Any", None), 1, (OffsetRange("t", 0, 0, 3),))


def test_a_client_of_spark_connect_is_refused() -> None:
    """It has no JVM, in which the transactions are made."""
    session = type("SparkSession", (SimpleNamespace,), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(SparkSettingsError, match="Run the driver as a classic one"):
        PostgresSink(URL, "orders").resume(PipelineRun(cast("Any", session), "g", lambda: None))
