"""DeltaSink by itself: each epoch once, in one commit, whatever other programs do to the table. Run by test_delta.py."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from membership_client import ConfigError, TopicPartition
from membership_client_spark import (
    DeltaSink,
    EpochTakenError,
    ForeignSinkError,
    ManifestError,
    PipelineRun,
    Published,
    SparkSettingsError,
    SupersededError,
)
from membership_client_spark.delta import table
from tests.spark.pipeline.sink_scenes import (
    ENDS,
    LONGER,
    NEXT,
    RANGES,
    UPSERT,
    race_of_groups,
    race_with_different_ends,
    replaced,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OVERWRITE = "INSERT INTO {table} REPLACE WHERE id < 2 SELECT * FROM {rows} WHERE id < 2"


def run_of(spark: SparkSession, group: str = "g") -> PipelineRun:
    return PipelineRun(spark, group, lambda: None)


def opened(spark: SparkSession, table: Path | str, group: str = "g", **options: Any) -> DeltaSink:
    sink = DeltaSink(table, **options)
    sink.resume(run_of(spark, group))
    return sink


def ids(spark: SparkSession, path: Path) -> list[int]:
    return sorted(row.id for row in spark.read.format("delta").load(str(path)).collect())


def log(path: Path) -> list[dict[str, Any]]:
    """Each commit, in order, as one object: its last action of each kind."""
    commits = sorted((path / "_delta_log").glob("*.json"))
    return [{k: v for line in one.read_text().splitlines() for k, v in json.loads(line).items()} for one in commits]


def clean_log(spark: SparkSession, path: Path, *, keep: int) -> None:
    """As other writers do it after 30 days: a checkpoint, and the commits before it go."""
    newest = len(log(path)) - 1
    java: Any = spark
    delta = java._jvm.org.apache.spark.sql.delta.DeltaLog
    delta.forTable(java._jsparkSession, str(path)).checkpoint()
    for commit in sorted((path / "_delta_log").glob("*.json"))[: newest + 1 - keep]:
        commit.unlink()
        (path / "_delta_log" / f".{commit.name}.crc").unlink(missing_ok=True)
        (path / "_delta_log" / f"{commit.stem}.crc").unlink(missing_ok=True)
    delta.clearCache()


def test_a_new_table_with_a_name_has_the_ranges_too(tables: SparkSession) -> None:
    """Delta leaves the metadata out of a commit that makes such a table: the first epoch was there without its ranges."""
    name = f"new_{uuid.uuid4().hex[:8]}"
    opened(tables, name)(tables.range(3), 1, RANGES)
    assert DeltaSink(name).resume(run_of(tables)) == Published(1, ENDS)
    assert tables.table(name).count() == 3


def test_one_commit_has_rows_and_ranges(tables: SparkSession, tmp_path: Path) -> None:
    """So no kill can come between them; and the next driver reads them from the table."""
    sink = DeltaSink(tmp_path)
    assert sink.resume(run_of(tables)) == Published(0, {})
    sink(tables.range(3), 7, RANGES)
    _created, commit = log(tmp_path)
    assert commit["txn"]["appId"] == "membership-client"
    assert commit["txn"]["version"] == 7
    told = json.loads(commit["commitInfo"]["userMetadata"])["membership-client"]
    assert (told["epoch"], told["group"]) == (7, "g")
    assert DeltaSink(tmp_path).resume(run_of(tables)) == Published(7, ENDS)
    assert ids(tables, tmp_path) == [0, 1, 2]


@pytest.mark.parametrize("merge", [None, UPSERT, OVERWRITE])
def test_a_repeated_epoch_changes_nothing(tables: SparkSession, tmp_path: Path, merge: str | None) -> None:
    """With the same ranges it is recognised; with others it is refused, where Delta alone skips it without a word.

    The documented recipe lost records like that: the group went on after what the repeated epoch had in addition.
    """
    tables.range(0).write.format("delta").save(str(tmp_path))
    first, second = (opened(tables, tmp_path, merge=merge) for _ in range(2))
    first(tables.range(2), 1, RANGES)
    first(tables.range(2), 1, RANGES)
    second(tables.range(2), 1, RANGES)
    with pytest.raises(EpochTakenError, match="has epoch 1 already"):
        second(tables.range(9), 1, LONGER)
    assert ids(tables, tmp_path) == [0, 1]
    second(tables.range(1, 2), 2, NEXT)
    assert [commit["txn"]["version"] for commit in log(tmp_path)[1:]] == [1, 2]
    assert opened(tables, tmp_path).resume(run_of(tables)) == Published(2, {**ENDS, TopicPartition("t", 0): 7})


def test_merge_updates_by_key(tables: SparkSession, tmp_path: Path) -> None:
    """Rows and ranges are in one commit; one that changes nothing is there as well, and so are its ranges."""
    tables.sql("SELECT 1L AS id, 'old' AS word").write.format("delta").save(str(tmp_path))
    sink = opened(tables, tmp_path, merge=UPSERT)
    sink(tables.sql("SELECT * FROM VALUES (1L, 'new'), (2L, 'new') AS r(id, word)"), 1, RANGES)
    rows = tables.read.format("delta").load(str(tmp_path)).collect()
    assert sorted((row.id, row.word) for row in rows) == [(1, "new"), (2, "new")]
    assert len(log(tmp_path)) == 2
    sink(tables.sql("SELECT 1L AS id, 'none' AS word WHERE false"), 2, NEXT)
    assert DeltaSink(tmp_path).resume(run_of(tables)).epoch == 2
    assert tables.conf.get("spark.databricks.delta.commitInfo.userMetadata", None) is None
    assert not [view for view in tables.catalog.listTables("global_temp") if view.name.startswith("epoch_")]


def test_other_writers_do_not_move_the_position(
    tables: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appends with metadata of their own, OPTIMIZE, VACUUM, checkpoints and DELETE, more than a page of the history."""
    monkeypatch.setattr(table, "_PAGES", (1, 3, None))
    sink = opened(tables, tmp_path)
    sink(tables.range(3), 1, RANGES)
    for number in range(2):
        writer = tables.range(100, 101, 1, 1).write.format("delta").mode("append")
        writer.option("userMetadata", f'{{"epoch": {number}}}').save(str(tmp_path))
    tables.sql(f"OPTIMIZE delta.`{tmp_path}`")
    tables.sql(f"DELETE FROM delta.`{tmp_path}` WHERE id = 100")
    tables.sql(f"VACUUM delta.`{tmp_path}`")
    assert DeltaSink(tmp_path).resume(run_of(tables)) == Published(1, ENDS)
    clean_log(tables, tmp_path, keep=len(log(tmp_path)))
    assert DeltaSink(tmp_path).resume(run_of(tables)) == Published(1, ENDS)
    sink(tables.range(3, 5), 2, NEXT)
    assert ids(tables, tmp_path) == [0, 1, 2, 3, 4]


def test_a_position_that_was_cleaned_up_is_an_error(tables: SparkSession, tmp_path: Path) -> None:
    """A log is kept for 30 days by default. The number of the transaction stays, so nothing is written a second time."""
    opened(tables, tmp_path)(tables.range(3), 4, RANGES)
    for _ in range(2):
        tables.range(100, 101).write.format("delta").mode("append").save(str(tmp_path))
    clean_log(tables, tmp_path, keep=1)
    sink = DeltaSink(tmp_path)
    assert sink.resume(run_of(tables)) == Published(0, {})
    for epoch in (1, 4):
        with pytest.raises(ManifestError, match=f"epoch {epoch} is published already, but its manifest is not there"):
            sink(tables.range(3), epoch, RANGES)
    assert ids(tables, tmp_path) == [0, 1, 2, 100, 100]
    sink(tables.range(7, 8), 5, NEXT)
    assert DeltaSink(tmp_path).resume(run_of(tables)).epoch == 5


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_of_two_drivers_one_publishes(tables: SparkSession, tmp_path: Path, new: bool, named: bool) -> None:
    """Appends do not conflict in Delta by themselves; those of one epoch do, in a new table and in an old one."""
    place = f"race_{uuid.uuid4().hex[:8]}" if named else str(tmp_path / "t")
    if not new:
        opened(tables, place)(tables.range(0), 1, ())
    sinks = [opened(tables, place) for _ in range(3)]
    assert race_with_different_ends(tables, sinks) == ["EpochTakenError", "EpochTakenError", "published"]
    rows = tables.table(place) if named else tables.read.format("delta").load(place)
    assert rows.count() == 2


def test_one_table_belongs_to_one_group(tables: SparkSession, tmp_path: Path) -> None:
    """Also if both groups begin at once, with a table that neither of them has written to."""
    tables.range(0).write.format("delta").save(str(tmp_path))
    sinks = [opened(tables, tmp_path, group) for group in ("g", "h")]
    assert race_of_groups(tables, sinks) == ["ForeignSinkError", "published"]
    assert ids(tables, tmp_path) == [0, 1]
    with pytest.raises(ForeignSinkError, match="has epochs of group"):
        DeltaSink(tmp_path).resume(run_of(tables, "other"))


def test_a_driver_that_was_replaced_publishes_nothing(tables: SparkSession, tmp_path: Path) -> None:
    """It is asked for before the commit."""
    sink = DeltaSink(tmp_path)
    sink.resume(PipelineRun(tables, "g", replaced))
    with pytest.raises(SupersededError):
        sink(tables.range(3), 1, RANGES)
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_write_is_told(tables: SparkSession, tmp_path: Path) -> None:
    """Rows that do not fit into the table are no epoch that another driver has taken."""
    from pyspark.errors import AnalysisException

    sink = opened(tables, tmp_path)
    sink(tables.range(1), 1, RANGES)
    with pytest.raises(AnalysisException, match="schema"):
        sink(tables.sql("SELECT 'x' AS other"), 2, NEXT)
    assert DeltaSink(tmp_path).resume(run_of(tables)).epoch == 1


def test_tables_are_partitioned_as_asked(tables: SparkSession, tmp_path: Path) -> None:
    """By columns of what the transform returns; a path may have blanks and quotes."""
    path = tmp_path / "a `table`"
    sink = opened(tables, path, transform=lambda df: df.selectExpr("id", "id % 2 AS parity"), partition_by=["parity"])
    sink(tables.range(4), 1, RANGES)
    sink(tables.range(4, 5), 2, NEXT)
    assert {place.name for place in path.glob("parity=*")} == {"parity=0", "parity=1"}
    assert DeltaSink(path).resume(run_of(tables)).epoch == 2


def test_damaged_metadata_is_an_error(tables: SparkSession, tmp_path: Path) -> None:
    """Guessing an offset would lose or repeat records."""
    writer = tables.range(1).write.format("delta").option("userMetadata", '{"membership-client": {"epoch": 3}}')
    writer.save(str(tmp_path))
    with pytest.raises(ManifestError, match="version 0: This is not a manifest"):
        DeltaSink(tmp_path).resume(run_of(tables))


def test_what_cannot_be_merged_into(tables: SparkSession, tmp_path: Path) -> None:
    """A statement needs its table, with a schema; what is no Delta table is left alone."""
    with pytest.raises(ConfigError, match="merge needs a table, and there is no"):
        DeltaSink(tmp_path / "none", merge=UPSERT).resume(run_of(tables))
    name = f"plain_{uuid.uuid4().hex[:8]}"
    tables.range(1).write.format("parquet").saveAsTable(name)
    with pytest.raises(SparkSettingsError, match="is no Delta table"):
        DeltaSink(name).resume(run_of(tables))
