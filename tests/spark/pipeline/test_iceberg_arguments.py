"""What an IcebergSink refuses at once, without a session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from membership_client import ConfigError
from membership_client_spark import IcebergSink, OffsetRange, PipelineRun, SparkSettingsError

UPSERT = "MERGE INTO {table} t USING {rows} r ON t.id = r.id WHEN NOT MATCHED THEN INSERT *"


@pytest.mark.parametrize(
    "statement", [UPSERT.replace("{rows}", "rows"), UPSERT.replace("{table}", "stock"), f"UPDATE {UPSERT}", " "]
)
def test_a_statement_that_is_not_one_commit_of_the_rows(statement: str) -> None:
    """Without its rows or its table it would not be the epoch's."""
    with pytest.raises(ConfigError, match="merge must be one statement that begins with MERGE or INSERT"):
        IcebergSink("lake.stock", merge=statement)


def test_a_sink_that_another_function_calls_is_refused() -> None:
    """It would not be asked where to go on, and would write what is there already."""
    with pytest.raises(ConfigError, match="IcebergSink is given to epochs"):
        IcebergSink("lake.stock")(cast("Any", None), 1, (OffsetRange("t", 0, 0, 3),))


def test_a_client_of_spark_connect_is_refused() -> None:
    """It has no Java interface."""
    session = type("SparkSession", (SimpleNamespace,), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(SparkSettingsError, match="Run the driver as a classic one"):
        IcebergSink("lake.stock").resume(PipelineRun(cast("Any", session), "g", lambda: None))
