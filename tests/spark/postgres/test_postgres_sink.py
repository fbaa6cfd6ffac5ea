"""PostgresSink: each epoch once, in one transaction, whatever happens to drivers, tasks and the database."""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Any

import pytest

from membership_client import ConfigError, TopicPartition
from membership_client.testing import KafkaCluster
from membership_client_spark import (
    EpochTakenError,
    ForeignSinkError,
    ManifestError,
    OffsetRange,
    PipelineRun,
    PostgresSink,
    Published,
    SparkSettingsError,
    SupersededError,
)
from membership_client_spark.postgres.database import Database, DatabaseConnection
from membership_client_spark.postgres.table import EPOCHS
from tests.spark.pipeline.sink_scenes import (
    ENDS,
    LONGER,
    NEXT,
    RANGES,
    race_of_groups,
    race_with_different_ends,
    replaced,
)
from tests.spark.pipeline.stage import Stage
from tests.spark.postgres.server import PASSWORD, PostgresServer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

UPSERT = "INSERT INTO {table} AS t (id) SELECT id FROM {rows} r ON CONFLICT (id) DO UPDATE SET times = t.times + 1"
ATTEMPTS = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'v') AND relname LIKE '%-%-%'"

_numbers = itertools.count(1)


class Shop:
    """A table of a test's own, in a schema of its own."""

    def __init__(self, spark: SparkSession, server: PostgresServer, columns: str = "id bigint") -> None:
        self.spark = spark
        self.server = server
        self.database = Database(spark, server.url(), server.properties)
        self.schema = f"shop{next(_numbers)}"
        self.table = f"{self.schema}.stock"
        self.do(f"CREATE SCHEMA {self.schema}")
        self.do(f"CREATE TABLE {self.table} ({columns})")

    def do(self, text: str) -> None:
        with self.database.connected() as connection:
            connection.execute(text)

    def ask(self, text: str) -> list[tuple[str, ...]]:
        with self.database.connected() as connection:
            return connection.query(text)

    def ids(self) -> list[int]:
        return sorted(int(row[0]) for row in self.ask(f"SELECT id FROM {self.table}"))

    def sink(self, **options: Any) -> PostgresSink:
        return PostgresSink(self.server.url(), self.table, properties=self.server.properties, **options)

    def run(self, group: str = "g") -> PipelineRun:
        return PipelineRun(self.spark, group, lambda: None)

    def opened(self, group: str = "g", **options: Any) -> PostgresSink:
        sink = self.sink(**options)
        sink.resume(self.run(group))
        return sink

    def found(self) -> Published:
        return self.sink().resume(self.run())

    def attempts(self) -> list[tuple[str, ...]]:
        return self.ask(f"{ATTEMPTS} AND relnamespace = '{self.schema}'::regnamespace")


@pytest.fixture
def shop(spark: SparkSession, postgres: PostgresServer) -> Shop:
    return Shop(spark, postgres)


def test_one_transaction_has_rows_and_ranges(shop: Shop) -> None:
    """So no kill can come between them; the next driver reads them there, and no attempt is left."""
    sink = shop.sink()
    assert sink.resume(shop.run()) == Published(0, {})
    sink(shop.spark.range(3), 7, RANGES)
    assert shop.found() == Published(7, ENDS)
    assert shop.ids() == [0, 1, 2]
    assert shop.attempts() == []
    written = f"SELECT count(DISTINCT xmin::text) FROM (SELECT xmin FROM {shop.table} UNION ALL SELECT xmin FROM {shop.schema}.{EPOCHS}) x"
    assert shop.ask(written) == [("1",)]


@pytest.mark.parametrize("merge", [None, UPSERT])
def test_a_repeated_epoch_changes_nothing(spark: SparkSession, postgres: PostgresServer, merge: str | None) -> None:
    """With the same ranges it is recognised; with others it is refused, and nothing of it is visible."""
    shop = Shop(spark, postgres, "id bigint PRIMARY KEY, times int NOT NULL DEFAULT 1")
    first, second = (shop.opened(merge=merge) for _ in range(2))
    for sink in (first, first, second):
        sink(spark.range(2), 1, RANGES)
    with pytest.raises(EpochTakenError, match="has epoch 1 already"):
        second(spark.range(9), 1, LONGER)
    assert shop.ids() == [0, 1]
    second(spark.range(2, 4), 2, NEXT)
    assert shop.found() == Published(2, {**ENDS, TopicPartition("t", 0): 7})
    assert shop.ask(f"SELECT sum(times) FROM {shop.table}") == [("4",)]
    if merge:
        second(spark.range(1, 5), 3, ())
        assert shop.ask(f"SELECT sum(times) FROM {shop.table}") == [("8",)]


def test_of_two_drivers_one_publishes(shop: Shop) -> None:
    """The others wait for its transaction, and find the epoch taken."""
    sinks = [shop.opened() for _ in range(3)]
    assert race_with_different_ends(shop.spark, sinks) == ["EpochTakenError", "EpochTakenError", "published"]
    assert len(shop.ids()) == 2


def test_one_table_belongs_to_one_group(shop: Shop) -> None:
    """Also if both groups begin at once, and whatever their epochs are; another table of the schema is another sink."""
    sinks = [shop.opened(group) for group in ("g", "h")]
    told = race_of_groups(shop.spark, sinks)
    assert told == ["ForeignSinkError", "published"]
    for sink in sinks:
        try:
            sink(shop.spark.range(1), 9, NEXT)
        except ForeignSinkError:
            told.append("foreign")
    assert told[2:] == ["foreign"]
    assert shop.ids() == [0, 0, 1]
    with pytest.raises(ForeignSinkError, match="has epochs of group"):
        shop.opened("other")
    shop.do(f"CREATE TABLE {shop.schema}.other (id bigint)")
    other = PostgresSink(shop.server.url(), f"{shop.schema}.other", properties=shop.server.properties)
    assert other.resume(shop.run("other")) == Published(0, {})


def test_an_epoch_older_than_the_newest_is_never_written(shop: Shop) -> None:
    """By a driver that stood still, also when the row of that epoch was deleted since."""
    late, sink = shop.opened(), shop.opened()
    for epoch in (1, 2):
        sink(shop.spark.range(epoch, epoch + 1), epoch, RANGES)
    shop.do(f"DELETE FROM {shop.schema}.{EPOCHS} WHERE epoch = 1")
    with pytest.raises(ManifestError, match="epoch 1 is published already"):
        late(shop.spark.range(5), 1, RANGES)
    assert shop.ids() == [1, 2]


def test_a_driver_that_was_replaced_publishes_nothing(shop: Shop) -> None:
    """It is asked for right before the transaction, and leaves no attempt."""
    sink = shop.sink()
    sink.resume(PipelineRun(shop.spark, "g", replaced))
    with pytest.raises(SupersededError):
        sink(shop.spark.range(3), 1, RANGES)
    assert (shop.ids(), shop.attempts()) == ([], [])


def test_rows_that_a_task_has_committed_twice_are_there_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the answer to the commit of a task's first attempt is lost: Spark runs the task again."""
    write = Database.write

    def twice(self: Database, rows: DataFrame, table: str, mode: str) -> None:
        write(self, rows, table, mode)
        if mode == "append":
            write(self, rows.where("id % 2 = 0"), table, mode)

    monkeypatch.setattr(Database, "write", twice)
    shop.opened()(shop.spark.range(0, 10, 1, 4), 1, RANGES)
    assert shop.ids() == list(range(10))


def test_an_error_of_the_move_is_told_and_undone(shop: Shop) -> None:
    """A key that is there already is no epoch that another driver has taken; and nothing of several statements stays."""
    shop.do(f"ALTER TABLE {shop.table} ADD PRIMARY KEY (id)")
    sink = shop.opened(merge="INSERT INTO {table} VALUES (77); INSERT INTO {table} SELECT id FROM {rows} r")
    with pytest.raises(Exception, match="duplicate key value"):
        sink(shop.spark.range(3).selectExpr("id % 2 AS id"), 1, RANGES)
    assert (shop.ids(), shop.attempts(), shop.found()) == ([], [], Published(0, {}))
    sink(shop.spark.range(3), 1, RANGES)
    assert shop.ids() == [0, 1, 2, 77]


def test_a_statement_cannot_commit_by_itself(shop: Shop) -> None:
    """The epoch would be there without its ranges."""
    sink = shop.opened(merge="INSERT INTO {table} SELECT id FROM {rows} r; COMMIT")
    with pytest.raises(Exception, match="EXECUTE of transaction commands is not implemented"):
        sink(shop.spark.range(3), 1, RANGES)
    assert shop.ids() == []


def test_columns_find_their_places_and_types(spark: SparkSession, postgres: PostgresServer) -> None:
    """In any order and in other letters; texts become what the column is; a text that is too long is not cut off."""
    columns = '"Article" varchar(4), about jsonb, at timestamptz DEFAULT now(), mark uuid, number int GENERATED ALWAYS AS IDENTITY'
    shop = Shop(spark, postgres, columns)
    sink = shop.opened()
    mark = "0b7b6a10-8a2f-4e0e-9d5e-000000000001"
    sink(spark.sql(f"""SELECT '{{"a": "\\'"}}' AS About, '{mark}' AS mark, 'pear' AS article"""), 1, RANGES)
    assert shop.ask(f"SELECT \"Article\", about ->> 'a', mark, at IS NOT NULL, number FROM {shop.table}") == [
        ("pear", "'", mark, "t", "1")
    ]
    with pytest.raises(Exception, match="value too long"):
        sink(spark.sql("SELECT 'peach' AS article"), 2, NEXT)
    with pytest.raises(ConfigError, match="The rows have the column other, and"):
        sink(spark.sql("SELECT 'pear' AS article, 1 AS other"), 2, NEXT)


def test_what_killed_drivers_left_is_dropped(shop: Shop) -> None:
    """Attempts of this group for this table, and nothing else; one that is in use is left for the next start."""
    (old,) = _left_behind(shop, "g")
    kept = _left_behind(shop, "h")
    with shop.database.connected() as connection:
        _hold(connection, f'{shop.schema}."{old}"')
        shop.found()
        assert (old,) in shop.attempts()
    shop.found()
    assert {name for (name,) in shop.attempts()} == {name for each in kept for name in (each, f"{each}-rows")}


def _left_behind(shop: Shop, group: str) -> list[str]:
    """The table of an attempt, with its view, of a driver that was killed."""
    sink = shop.sink()
    before = set(shop.attempts())

    def killed() -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        from membership_client_spark.postgres.table import PostgresTable

        patch.setattr(PostgresTable, "_drop", lambda *_: None)
        sink.resume(PipelineRun(shop.spark, group, killed))
        with pytest.raises(KeyboardInterrupt):
            sink(shop.spark.range(3), 1, RANGES)
    return [name for (name,) in set(shop.attempts()) - before if not name.endswith("-rows")]


def _hold(connection: DatabaseConnection, table: str) -> None:
    """As a task does whose executor stands still: an open transaction that has written to the table."""
    connection._java.setAutoCommit(False)
    connection.execute(f"INSERT INTO {table} SELECT * FROM {table}")


def test_a_crash_of_the_database_loses_and_doubles_nothing(spark: SparkSession) -> None:
    """Before the move: the epoch fails, whatever tasks have committed, and the next driver writes it."""
    with PostgresServer() as server:
        shop = Shop(spark, server)
        sink = shop.sink()

        def crash() -> None:
            server.crash()
            server.start()

        sink.resume(PipelineRun(spark, "g", crash))
        with pytest.raises(Exception, match=r"(?s)\S"):
            sink(spark.range(3), 1, RANGES)
        assert (shop.ids(), shop.found()) == ([], Published(0, {}))
        shop.opened()(spark.range(3), 1, RANGES)
        assert shop.ids() == [0, 1, 2]


def test_damaged_epochs_are_an_error(shop: Shop) -> None:
    """Guessing an offset would lose or repeat records."""
    shop.opened()(shop.spark.range(1), 1, RANGES)
    shop.do(f"UPDATE {shop.schema}.{EPOCHS} SET manifest = '{{}}'")
    with pytest.raises(ManifestError, match=r"epoch 1 of stock: This is not a manifest"):
        shop.opened()


def test_what_is_not_there_is_said(shop: Shop) -> None:
    """A table; a name that is none; the driver's jar."""
    for name in ("none", "a b c", f"{shop.schema}.none"):
        sink = PostgresSink(shop.server.url(), name, properties=shop.server.properties)
        with pytest.raises(ConfigError, match=f"There is no table {name}"):
            sink.resume(shop.run())
    properties = {**shop.server.properties, "driver": "org.none.Driver"}
    with pytest.raises(SparkSettingsError, match=r"org\.none\.Driver is not on Spark's class path"):
        PostgresSink(shop.server.url(), shop.table, properties=properties).resume(shop.run())


def test_a_wrong_password_is_the_databases_error(shop: Shop) -> None:
    """In its words, and without the password."""
    wrong = {**shop.server.properties, "password": "another secret"}
    with pytest.raises(Exception, match="password authentication failed") as raised:
        PostgresSink(shop.server.url(), shop.table, properties=wrong).resume(shop.run())
    assert "another secret" not in str(raised.value)


def test_the_password_is_in_no_log(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """py4j logs at DEBUG all that is sent to the JVM."""
    caplog.set_level(logging.DEBUG, "py4j")
    shop.opened()(shop.spark.range(1), 1, RANGES)
    assert PASSWORD not in caplog.text


@pytest.mark.kafka
def test_a_pipeline_goes_on_after_a_driver_that_failed_between_both_commits(
    kafka: KafkaCluster, spark: SparkSession, postgres: PostgresServer
) -> None:
    """The database is ahead of the group, and is believed."""
    shop, stage = Shop(spark, postgres, "n bigint PRIMARY KEY"), Stage(kafka.bootstrap_servers)
    stage.fill(60)

    def numbers(df: DataFrame) -> DataFrame:
        return df.selectExpr("CAST(get_json_object(CAST(value AS STRING), '$.n') AS BIGINT) AS n")

    class Crashing(PostgresSink):
        def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
            super().__call__(df, epoch_id, offset_ranges)
            raise OSError("the driver's host is lost")

    crashing = Crashing(postgres.url(), shop.table, properties=postgres.properties, transform=numbers)
    with stage.run(spark, crashing, max_records=20) as pipeline, pytest.raises(OSError, match="host"):
        pipeline.wait(300)
    assert sum(offset for offset in stage.committed().values() if offset > 0) == 0
    stage.read_all(spark, shop.sink(transform=numbers), max_records=20)
    assert shop.ask(f"SELECT count(*), min(n), max(n) FROM {shop.table}") == [("60", "0", "59")]
    assert shop.sink().resume(shop.run(stage.topic)).epoch == 3
