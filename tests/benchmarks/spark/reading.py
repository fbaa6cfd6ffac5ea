"""One epoch against plain confluent-kafka in mapInArrow: the same records, the same columns, the same tasks.

Both take turns (theirs, ours, ours, theirs), so that whatever else the machine does happens to both, and medians count.
"""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pyarrow as pa
from pyspark.sql import DataFrame

from membership_client.testing.admin import ClusterAdmin
from membership_client_spark import epochs
from membership_client_spark.arrow import COLUMNS, ddl, record_batch
from membership_client_spark.pipeline.interface import EpochReport
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.spark.setting import Setting

if TYPE_CHECKING:
    from membership_client_spark.pipeline.engine import ForeachEpoch
    from membership_client_spark.pipeline.reader import ReaderChoice

SLOTS = 2
_BATCH = 20_000


def measure(setting: Setting) -> list[Figure]:
    topic = f"reading-{uuid.uuid4().hex[:8]}"
    ClusterAdmin(setting.bootstrap_servers).create_topic(topic, SLOTS)
    fill(setting, topic, setting.records, SLOTS)
    ours = partial(epoch_s, setting, topic, setting.records, lambda: _into_nothing, "python")
    rates: dict[str, list[float]] = {"ours": [], "confluent": []}
    for number in range(setting.rounds + 1):
        for kind in ("ours", "confluent") if number % 2 else ("confluent", "ours"):
            seconds = ours() if kind == "ours" else _plain(setting, topic)
            setting.say(f"{kind}: {setting.records / seconds:,.0f} records/s")
            if number:  # The first round warms up Spark and its workers.
                rates[kind].append(setting.records / seconds)
    return [
        Figure(
            name="records of an epoch",
            unit="records/s",
            values={"ours": statistics.median(rates["ours"]), "confluent": statistics.median(rates["confluent"])},
            how=f"{setting.records} of about 125 bytes into nothing, {SLOTS} tasks, median of {setting.rounds}",
            limit=Limit(at_least=0.9, of_confluent=True),
        )
    ]


def fill(setting: Setting, topic: str, records: int, partitions: int) -> None:
    """Records of 100 to 150 bytes, over all partitions in turn."""
    producer = confluent_kafka.Producer({"bootstrap.servers": setting.bootstrap_servers, "linger.ms": 50})
    for number in range(records):
        producer.produce(topic, b"x" * (100 + number % 50), partition=number % partitions)
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


def epoch_s(
    setting: Setting,
    topic: str,
    records: int,
    new_sink: Callable[[], ForeachEpoch],
    reader: ReaderChoice,
    **options: Any,
) -> float:
    """From planning to the commit, as the pipeline counts it. An epoch with less, because a slot came late, is played again."""
    while (last := _epoch(setting, topic, new_sink(), reader, options)).records < records:
        setting.say(f"{reader}: once more, an epoch had {last.records} records only")
    return last.seconds


def _epoch(
    setting: Setting, topic: str, sink: ForeachEpoch, reader: ReaderChoice, options: Mapping[str, Any]
) -> EpochReport:
    config = {
        "bootstrap.servers": setting.bootstrap_servers,
        "group.id": f"{topic}-{uuid.uuid4().hex[:8]}",
        "auto.offset.reset": "earliest",
    }
    spark, name = setting.spark, "epoch"
    pipeline = epochs(
        spark, sink, config=config, topics=[topic], name=name, slots=SLOTS, available_now=True, reader=reader, **options
    )
    last = pipeline.wait(setting.patience_s).last
    assert last is not None
    return last


def _into_nothing(rows: DataFrame, epoch_id: int, ranges: object) -> None:
    rows.write.format("noop").mode("overwrite").save()


def _plain(setting: Setting, topic: str) -> float:
    """What one would write by hand: a task per partition, from the first offset to the last."""
    servers, wanted = setting.bootstrap_servers, setting.records // SLOTS

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for partition in [number for batch in batches for number in batch["id"].to_pylist()]:
            consumer = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "plain"})
            consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
            left = wanted
            while left:
                messages = consumer.consume(min(_BATCH, left), 1.0)
                left -= len(messages)
                yield record_batch(messages)
            consumer.close()

    began = time.monotonic()
    _into_nothing(setting.spark.range(0, SLOTS, 1, SLOTS).mapInArrow(read, ddl(COLUMNS)), 0, None)
    return time.monotonic() - began
