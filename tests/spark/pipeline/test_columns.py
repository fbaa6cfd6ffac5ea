"""Columns that a ParquetSink cannot publish are refused before anything is written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from membership_client import ConfigError
from membership_client_spark.parquet.sink import ParquetSink
from membership_client_spark.pipeline.interface import PipelineRun
from membership_client_spark.pipeline.ranges import OffsetRange

RANGES = (OffsetRange("t", 0, 0, 3),)


def frame(*columns: str) -> DataFrame:
    """Rows that have these columns, without a session. To write them is an AttributeError."""
    kind = type("Frame", (DataFrame,), {"columns": list(columns)})
    return cast("DataFrame", object.__new__(kind))


@pytest.mark.parametrize("names", [["epoch"], ["day", "Epoch"], ("EPOCH",)])
def test_epochs_are_not_partitioned_by_epoch(tmp_path: Path, names: list[str]) -> None:
    """They were published as epoch=1/epoch=..., and Spark refused to read the path: COLUMN_ALREADY_EXISTS."""
    with pytest.raises(ConfigError, match="partition_by cannot have epoch"):
        ParquetSink(tmp_path, partition_by=names)


@pytest.mark.parametrize("names", [["day", "day"], ["day", "shop", "Day"]])
def test_no_column_is_a_directory_twice(tmp_path: Path, names: list[str]) -> None:
    """Spark refused it first in the middle of a pipeline."""
    with pytest.raises(ConfigError, match="partition_by names a column twice"):
        ParquetSink(tmp_path, partition_by=names)


@pytest.mark.parametrize(
    ("transform", "says"),
    [
        (lambda _: frame("value", "epoch"), "cannot have the column epoch.*Rename the column"),
        (lambda _: frame("Epoch", "value"), "cannot have the column Epoch.*Rename the column"),
        (lambda _: None, "transform must return a DataFrame of Spark, not None"),
        (lambda _: 7, "transform must return a DataFrame of Spark, not 7"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(tmp_path: Path, transform: Any, says: str) -> None:
    """A column epoch was hidden by the id of the epoch, without a word; None was an AttributeError."""
    sink = ParquetSink(tmp_path.as_uri(), transform=transform)
    sink.resume(PipelineRun(cast("Any", SimpleNamespace()), "g", lambda: None))
    with pytest.raises(ConfigError, match=says):
        sink(frame("value"), 1, RANGES)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() or path.name.startswith("epoch=")]
