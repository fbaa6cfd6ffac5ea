"""IcebergSink by itself: each epoch once, whatever other programs do to the table. Run by test_iceberg.py."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import pytest

from membership_client import ConfigError, MembershipError, TopicPartition
from membership_client_spark import (
    EpochTakenError,
    ForeignSinkError,
    IcebergSink,
    ManifestError,
    PipelineRun,
    Published,
    SparkSettingsError,
    SupersededError,
)
from membership_client_spark.iceberg import table as iceberg_table
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
    from collections.abc import Callable

    from pyspark.sql import SparkSession

OVERWRITE = "INSERT OVERWRITE {table} SELECT * FROM {rows}"

_numbers = itertools.count(1)


class Shop:
    """A table of a test's own."""

    def __init__(self, spark: SparkSession, columns: str = "id BIGINT") -> None:
        self.spark = spark
        self.table = f"lake.shop.stock{next(_numbers)}"
        spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
        spark.sql(f"CREATE TABLE {self.table} ({columns}) USING iceberg")

    def run(self, group: str = "g", check: Callable[[], None] = lambda: None) -> PipelineRun:
        return PipelineRun(self.spark, group, check)

    def opened(self, group: str = "g", check: Callable[[], None] = lambda: None, **options: Any) -> IcebergSink:
        sink = IcebergSink(self.table, **options)
        sink.resume(self.run(group, check))
        return sink

    def found(self) -> Published:
        return IcebergSink(self.table).resume(self.run())

    def ids(self) -> list[int]:
        return sorted(row.id for row in self.spark.table(self.table).collect())

    def append(self, number: int) -> None:
        """As another program does it."""
        self.spark.range(number, number + 1, 1, 1).writeTo(self.table).append()

    def refs(self) -> set[str]:
        return {row.name for row in self.spark.table(f"{self.table}.refs").collect()}


@pytest.fixture
def shop(tables: SparkSession) -> Shop:
    return Shop(tables)


def test_one_snapshot_has_rows_and_ranges(shop: Shop) -> None:
    """So no kill can come between them; the next driver reads them from the table, and no branch is left."""
    sink = IcebergSink(shop.table)
    assert sink.resume(shop.run()) == Published(0, {})
    sink(shop.spark.range(3), 7, RANGES)
    assert shop.found() == Published(7, ENDS)
    assert shop.ids() == [0, 1, 2]
    assert shop.refs() == {"main"}
    summary = "summary['membership-client'] IS NOT NULL AND summary['added-records'] = '3'"
    assert shop.spark.table(f"{shop.table}.snapshots").where(summary).count() == 1


@pytest.mark.parametrize("merge", [None, UPSERT, OVERWRITE])
def test_a_repeated_epoch_changes_nothing(shop: Shop, merge: str | None) -> None:
    """With the same ranges it is recognised; with others it is refused."""
    first, second = (shop.opened(merge=merge) for _ in range(2))
    for sink in (first, first, second):
        sink(shop.spark.range(2), 1, RANGES)
    with pytest.raises(EpochTakenError, match="has epoch 1 already"):
        second(shop.spark.range(9), 1, LONGER)
    assert shop.ids() == [0, 1]
    second(shop.spark.range(2, 3), 2, NEXT)
    assert shop.found() == Published(2, {**ENDS, TopicPartition("t", 0): 7})
    assert shop.ids() == ([2] if merge is OVERWRITE else [0, 1, 2])


def test_merge_updates_by_key(tables: SparkSession) -> None:
    """Also by a statement that changes nothing, and so makes no snapshot: its ranges are there."""
    shop = Shop(tables, "id BIGINT, word STRING")
    tables.sql(f"INSERT INTO {shop.table} VALUES (1, 'old')")
    sink = shop.opened(merge=UPSERT)
    sink(tables.sql("SELECT * FROM VALUES (1L, 'new'), (2L, 'new') AS r(id, word)"), 1, RANGES)
    assert sorted((row.id, row.word) for row in tables.table(shop.table).collect()) == [(1, "new"), (2, "new")]
    sink(tables.sql("SELECT 1L AS id, 'none' AS word WHERE false"), 2, NEXT)
    assert shop.found().epoch == 2
    assert not [view for view in tables.catalog.listTables() if view.name.startswith("epoch_")]


def test_of_two_drivers_one_publishes(shop: Shop) -> None:
    """Appends do not conflict in Iceberg by themselves; those of one epoch do."""
    sinks = [shop.opened() for _ in range(3)]
    assert race_with_different_ends(shop.spark, sinks) == ["EpochTakenError", "EpochTakenError", "published"]
    assert len(shop.ids()) == 2
    assert shop.refs() == {"main"}


def test_one_table_belongs_to_one_group(shop: Shop) -> None:
    """Also if both groups begin at once."""
    sinks = [shop.opened(group) for group in ("g", "h")]
    assert race_of_groups(shop.spark, sinks) == ["ForeignSinkError", "published"]
    assert shop.ids() == [0, 1]
    with pytest.raises(ForeignSinkError, match="has epochs of group"):
        shop.opened("other")


@pytest.mark.parametrize("merge", [None, UPSERT])
def test_other_programs_may_write_meanwhile(shop: Shop, merge: str | None) -> None:
    """Their rows stay, and those of the epoch are there once: it is written again after theirs."""
    written = []

    def another() -> None:
        written.append(1)
        if len(written) < 3:
            shop.append(100 + len(written))

    sink = shop.opened(check=another, merge=merge)
    sink(shop.spark.range(3), 1, RANGES)
    assert len(written) == 3
    assert shop.ids() == [0, 1, 2, 101, 102]
    shop.append(200)
    shop.spark.sql(f"CALL lake.system.rewrite_data_files('{shop.table.removeprefix('lake.')}')")
    assert shop.found() == Published(1, ENDS)


def test_a_table_that_never_stands_still_is_an_error(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten attempts; nothing of them is visible."""
    monkeypatch.setattr(iceberg_table, "_WRITES", 2)
    sink = shop.opened(check=lambda: shop.append(100))
    with pytest.raises(MembershipError, match="has changed 2 times while epoch 1 was written"):
        sink(shop.spark.range(3), 1, RANGES)
    assert shop.ids() == [100, 100]
    assert shop.refs() == {"main"}


def test_a_driver_that_was_replaced_publishes_nothing(shop: Shop) -> None:
    """It is asked for right before the branch is published."""
    sink = shop.opened(check=replaced)
    with pytest.raises(SupersededError):
        sink(shop.spark.range(3), 1, RANGES)
    assert shop.ids() == []
    assert shop.refs() == {"main"}


def test_branches_of_killed_drivers_are_removed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this group, when the next driver starts; other branches stay."""
    shop.opened()
    shop.spark.sql(f"ALTER TABLE {shop.table} CREATE BRANCH mine")

    def killed() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(iceberg_table.IcebergTable, "_remove", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            shop.opened(check=killed)(shop.spark.range(3), 1, RANGES)
    assert len(shop.refs()) == 3
    assert shop.found() == Published(0, {})
    assert shop.refs() == {"main", "mine"}


def test_an_older_epoch_is_never_written(shop: Shop) -> None:
    """By a driver that stood still while another published several."""
    late, sink = shop.opened(), shop.opened()
    for epoch in (1, 3):
        sink(shop.spark.range(epoch, epoch + 1), epoch, RANGES)
    with pytest.raises(ManifestError, match="epoch 2 is published already"):
        late(shop.spark.range(5), 2, RANGES)
    assert shop.ids() == [1, 3]


def test_a_rollback_undoes_the_position_with_the_rows(shop: Shop) -> None:
    """Both are in the same snapshots."""
    sink = shop.opened()
    sink(shop.spark.range(1), 1, RANGES)
    (first,) = shop.spark.table(f"{shop.table}.refs").where("name = 'main'").collect()
    sink(shop.spark.range(1, 2), 2, NEXT)
    place = shop.table.removeprefix("lake.")
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('{place}', {first.snapshot_id})")
    assert shop.found() == Published(1, ENDS)
    assert shop.ids() == [0]


def test_an_error_of_the_write_is_told(shop: Shop) -> None:
    """Rows that do not fit into the table are no epoch that another driver has taken."""
    from pyspark.errors import AnalysisException

    sink = shop.opened()
    with pytest.raises(AnalysisException):
        sink(shop.spark.sql("SELECT 'x' AS other"), 1, RANGES)
    assert shop.found() == Published(0, {})
    assert shop.refs() == {"main"}


def test_damaged_metadata_is_an_error(shop: Shop) -> None:
    """Guessing an offset would lose or repeat records."""
    shop.spark.range(1).writeTo(shop.table).option("snapshot-property.membership-client", "{}").append()
    with pytest.raises(ManifestError, match=r"snapshot \d+: This is not a manifest"):
        shop.opened()


def test_a_table_must_be_there(tables: SparkSession) -> None:
    """In a catalog of Iceberg; and the sink of a thread on which Spark has done nothing finds it, too."""
    tables.range(1).write.mode("overwrite").format("parquet").saveAsTable("plain")
    for name in ("lake.shop.none", "none.none"):
        with pytest.raises(ConfigError, match=f"There is no table {name}"):
            IcebergSink(name).resume(PipelineRun(tables, "g", lambda: None))
    with pytest.raises(SparkSettingsError, match="plain is no Iceberg table"):
        IcebergSink("plain").resume(PipelineRun(tables, "g", lambda: None))


def test_a_thread_on_which_spark_has_done_nothing(shop: Shop) -> None:
    """As that of a pipeline: Iceberg's own look-up knew no catalog there, since the JVM's thread had no active session."""
    new: Any = shop.spark.newSession()
    found = []
    thread = threading.Thread(
        target=lambda: found.append(IcebergSink(shop.table).resume(PipelineRun(new, "g", lambda: None)))
    )
    thread.start()
    thread.join()
    assert found == [Published(0, {})]
