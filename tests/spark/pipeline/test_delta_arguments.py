"""What a DeltaSink refuses at once, without a session."""

from __future__ import annotations

from typing import Any, cast

import pytest

from membership_client import ConfigError
from membership_client_spark import DeltaSink, OffsetRange

UPSERT = "MERGE INTO {table} t USING {rows} r ON t.id = r.id WHEN NOT MATCHED THEN INSERT *"


@pytest.mark.parametrize(
    "statement",
    [
        UPSERT.replace("{rows}", "rows"),
        UPSERT.replace("{table}", "stock"),
        f"UPDATE {UPSERT}",
        f"CREATE TABLE x; {UPSERT}",
        " ",
    ],
)
def test_a_statement_that_is_not_one_commit_of_the_rows(statement: str) -> None:
    """Without its rows, its table, or Delta's number of a transaction, it would not be exactly once."""
    with pytest.raises(ConfigError, match="merge must be one statement that begins with MERGE or INSERT"):
        DeltaSink("stock", merge=statement)


def test_a_statement_is_for_a_table_that_is_there() -> None:
    """So there is nothing to partition."""
    DeltaSink("stock", merge=f"\n  {UPSERT.lower()}")
    with pytest.raises(ConfigError, match="partition_by is for tables that the sink creates"):
        DeltaSink("stock", merge=UPSERT, partition_by=["day"])


def test_a_sink_that_another_function_calls_is_refused() -> None:
    """It would not be asked where to go on, and would write what is there already."""
    with pytest.raises(ConfigError, match="DeltaSink is given to epochs"):
        DeltaSink("stock")(cast("Any", None), 1, (OffsetRange("t", 0, 0, 3),))
