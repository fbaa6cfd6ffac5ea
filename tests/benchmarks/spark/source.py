"""Epochs beside Spark's own Kafka source, in one session: the same records, the same actions, in turns.

Both of our readers, and ParquetSink beside the Parquet of Structured Streaming. Each figure is the rate of ours in parts of Spark's.
"""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from membership_client.testing.admin import ClusterAdmin
from membership_client_spark import ParquetSink
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.spark.reading import epoch_s, fill
from tests.benchmarks.spark.setting import Setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from membership_client_spark.pipeline.reader import ReaderChoice

_PARTITIONS = 8
_PROMISES: Mapping[ReaderChoice, float] = {"spark": 0.95, "python": 0.8}
_PARQUET = 0.9

Action = Callable[["DataFrame"], object]


def noop(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


ACTIONS: dict[str, Action] = {
    "noop": noop,
    "count": lambda rows: rows.groupBy("partition").count().collect(),
    "value": lambda rows: noop(rows.select("value")),
    "filter": lambda rows: noop(rows.where("length(value) > 120").select("key", "value")),
}

COLUMNS = {
    "noop": ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"),
    "count": ("partition",),
    "value": ("value",),
    "filter": ("key", "value"),
}
"""What each of them needs: Spark's planner finds that out by itself, the Python reader is told."""


def measure(setting: Setting) -> list[Figure]:
    topic = f"source-{uuid.uuid4().hex[:8]}"
    ClusterAdmin(setting.bootstrap_servers).create_topic(topic, _PARTITIONS)
    records = min(setting.records, 1_000_000)
    fill(setting, topic, records, _PARTITIONS)
    sides: dict[str, Mapping[str, Callable[[], float]]] = {
        name: {"spark's": partial(_theirs, setting, topic, action)}
        | {reader: partial(_ours, setting, topic, records, reader, name) for reader in _PROMISES}
        for name, action in ACTIONS.items()
        if name == "value" or not setting.is_trial
    }
    parquet: dict[str, Callable[[], float]] = {
        "spark's": partial(_streamed_parquet, setting, topic),
        "spark": lambda: epoch_s(setting, topic, records, lambda: ParquetSink(_new_path(setting)), "spark"),
    }
    figures = [figure for name, one in sides.items() for figure in _compare(setting, name, one, records, _PROMISES)]
    return figures + _compare(setting, "Parquet", parquet, records, {"spark": _PARQUET})


def _compare(
    setting: Setting,
    name: str,
    sides: Mapping[str, Callable[[], float]],
    records: int,
    promises: Mapping[ReaderChoice, float],
) -> list[Figure]:
    """Medians of the rounds; the sides take turns, in each round from another one on. The first round warms up."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    order = list(sides)
    for number in range(setting.rounds + 1):
        for side in order[number % len(order) :] + order[: number % len(order)]:
            took = sides[side]()
            setting.say(f"{name}, {side}: {records / took:,.0f} records/s")
            if number:
                seconds[side].append(took)
    rates = {side: records / statistics.median(took) for side, took in seconds.items()}
    theirs = rates["spark's"]
    return [
        Figure(
            name=f"{name}, reader={side}",
            unit="of Spark's rate",
            values={"ours": rates[side] / theirs},
            how=f"{rates[side]:,.0f} and {theirs:,.0f} records/s; {records} records, median of {setting.rounds}",
            limit=Limit(at_least=promise),
        )
        for side, promise in promises.items()
    ]


# --- ours ------------------------------------------------------------------------------------------------------------


def _ours(setting: Setting, topic: str, records: int, reader: ReaderChoice, action: str) -> float:
    def run(rows: DataFrame, _epoch: int, _ranges: object) -> None:
        ACTIONS[action](rows)

    return epoch_s(setting, topic, records, lambda: run, reader, columns=COLUMNS[action])


# --- Spark's -----------------------------------------------------------------------------------------------------------


def _theirs(setting: Setting, topic: str, action: Action) -> float:
    began = time.monotonic()
    source = setting.spark.read.format("kafka").option("kafka.bootstrap.servers", setting.bootstrap_servers)
    action(source.option("subscribe", topic).option("includeHeaders", "true").load())
    return time.monotonic() - began


def _streamed_parquet(setting: Setting, topic: str) -> float:
    """The one batch of an AvailableNow query, as Spark itself counts it."""
    path = _new_path(setting)
    source = setting.spark.readStream.format("kafka").option("kafka.bootstrap.servers", setting.bootstrap_servers)
    rows = source.option("subscribe", topic).option("startingOffsets", "earliest").option("includeHeaders", "true")
    writer = rows.load().writeStream.format("parquet").option("checkpointLocation", f"{path}-checkpoint")
    query = writer.trigger(availableNow=True).start(path)
    query.awaitTermination()
    return sum(float(batch["durationMs"]["triggerExecution"]) for batch in query.recentProgress) / 1000


def _new_path(setting: Setting) -> str:
    return str(setting.directory / f"rows-{uuid.uuid4().hex[:8]}")
