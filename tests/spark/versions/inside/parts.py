"""Every part of the integration once, on the pyspark that this process finds. Run by `python -m tests.spark.versions`."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from membership_client_spark import DeltaSink, IcebergSink, ParquetSink, PostgresSink, consume
from tests.integration.members import eventually
from tests.spark.clusters.environment import environment
from tests.spark.kills.sinks import SINKS, numbers
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage, numbers_of
from tests.spark.stream.queries import Batches, stream
from tests.spark.versions.inside.with_tables import settings
from tests.spark.versions.other_pyspark import say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Part = Callable[["SparkSession", Stage, Path], None]

UPSERT = (
    "MERGE INTO {table} t USING {rows} r ON t.n = r.n WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
INSERT = "INSERT INTO {table} (n) SELECT n FROM {rows} r"


def slot_job(spark: SparkSession, stage: Stage, home: Path) -> None:
    """Two slots handle all records."""
    place = str(home)

    def handle(batch: Any, slot: Any) -> None:
        first = batch["offset"][0].as_py()
        Path(place, f"{slot.number}-{batch['partition'][0].as_py()}-{first}").write_bytes(
            b"\n".join(batch["value"].to_pylist())
        )

    def handled() -> Counter[int]:
        return numbers_of(value for file in home.iterdir() for value in file.read_bytes().splitlines())

    with consume(spark, slots=2, name=stage.topic, config=stage.config(), topics=[stage.topic], handle=handle):
        eventually(lambda: handled() == stage.all_numbers, "all records", PATIENCE_S)


def epochs_with(reader: str) -> Part:
    """Two runs, of which the second goes on where the first ended."""

    def play(spark: SparkSession, stage: Stage, _home: Path) -> None:
        found = Collecting()
        stage.read_all(spark, found, reader=reader, max_records=20)
        stage.fill(20)
        stage.read_all(spark, found, reader=reader)
        assert found.numbers == stage.all_numbers, found.numbers
        assert found.ids == [1, 2, 3], found.ids

    return play


def sink(kind: str, make: Callable[[str], Any], place_of: Callable[[Path], str]) -> Part:
    """Two runs into one table."""

    def play(spark: SparkSession, stage: Stage, home: Path) -> None:
        place = place_of(home)
        SINKS[kind].create(spark, place)
        for _ in range(2):
            stage.read_all(spark, make(place), max_records=20)
            stage.fill(20)
        rows = Counter(row.n for row in SINKS[kind].rows(spark, place).collect())
        assert rows == Counter(range(stage.produced - 20)), rows

    return play


def streaming(spark: SparkSession, stage: Stage, home: Path) -> None:
    """One run of a query over all that is there."""
    batches = Batches(home)
    batches.read_all(stream(spark, stage))
    assert batches.numbers() == stage.all_numbers, batches.numbers()


def parts() -> Iterator[tuple[str, Part]]:
    given = os.environ["SPARK_TEST_PACKAGES"] + os.environ["SPARK_TEST_JARS"]
    yield "consume", slot_job
    yield 'epochs(reader="python")', epochs_with("python")
    if "spark-sql-kafka" in given:
        yield 'epochs(reader="spark")', epochs_with("spark")
    yield "ParquetSink", sink("parquet", lambda path: ParquetSink(path, transform=numbers), str)
    if "delta-spark" in given:
        yield "DeltaSink", sink("delta", lambda path: DeltaSink(path, transform=numbers), str)
        yield (
            "DeltaSink(merge=...)",
            sink(
                "delta-merge", lambda path: DeltaSink(path, transform=numbers, merge=UPSERT), lambda home: f"{home}/t"
            ),
        )
    if "iceberg-spark" in given:
        yield "IcebergSink", sink("iceberg", lambda t: IcebergSink(t, transform=numbers), lambda _: "lake.shop.a")
        yield (
            "IcebergSink(merge=...)",
            sink("iceberg", lambda t: IcebergSink(t, transform=numbers, merge=UPSERT), lambda _: "lake.shop.b"),
        )
    yield (
        "PostgresSink",
        sink(
            "postgres",
            lambda url: PostgresSink(url, "numbers", transform=numbers),
            lambda _: os.environ["SPARK_TEST_DATABASE"],
        ),
    )
    if sys.modules["membership_client_spark"].__all__.count("KafkaGroupSource"):
        yield 'readStream.format("kafka-group")', streaming


def main() -> int:
    """Prints a line per part; the number of those that failed."""
    from pyspark.sql import SparkSession

    failed, home = 0, Path(tempfile.mkdtemp(prefix="parts-"))
    for name, value in environment(home).items():
        if name in {"JAVA_HOME", "PYTHONPATH"} or "SPARK" in name:
            os.environ[name] = value
    os.chdir(home)
    given = settings()
    spark = SparkSession.builder.master(given.master).config(map=dict(given.properties)).getOrCreate()
    for number, (name, play) in enumerate(parts()):
        stage, place = Stage(sys.argv[1]), home / f"part-{number}"
        place.mkdir()
        stage.fill(40)
        try:
            play(spark, stage, place)
        except Exception:  # noqa: BLE001 - it is the result
            failed += 1
            say(f"{name}: FAILED\n{traceback.format_exc()}")
        else:
            say(f"{name}: yes")
    spark.stop()
    return failed


if __name__ == "__main__":
    sys.exit(main())
