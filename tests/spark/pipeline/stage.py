"""A topic and a group of a test's own, and pipelines that read them."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from membership_client import TopicPartition
from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin, KafkaCluster
from membership_client_spark.epochs import Epochs, epochs
from tests.integration.members import QUICK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from membership_client_spark.pipeline.engine import ForeachEpoch
    from membership_client_spark.pipeline.ranges import OffsetRange

PATIENCE_S = 120.0
"""For a whole pipeline, which starts Python workers, on a machine that runs everything else at once."""


class Stage:
    """The topic and the group have the same name; records are numbered and of one size, and each number is there once."""

    RECORD_BYTES = 14

    def __init__(self, bootstrap_servers: str, partitions: int = 4, **topic_config: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.topic = f"epochs-{uuid.uuid4().hex[:8]}"
        self.partitions = partitions
        self.produced = 0
        admin = ClusterAdmin(bootstrap_servers)
        admin.set_group_config(self.topic, **QUICK)
        if topic_config:
            client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
            for made in client.create_topics([NewTopic(self.topic, partitions, 1, config=topic_config)]).values():
                made.result()
        else:
            admin.create_topic(self.topic, partitions)

    def be_patient(self) -> None:
        """Gives the group a long session, for a busy machine that starts another JVM. Needs the patient broker."""
        settings = {"consumer_session_timeout_ms": 300_000}
        ClusterAdmin(self.bootstrap_servers).set_group_config(self.topic, **settings)

    def fill(self, records: int, producer: Producer | None = None) -> None:
        """With the next numbers, over all partitions in turn."""
        writer = producer or Producer({"bootstrap.servers": self.bootstrap_servers})
        for number in range(self.produced, self.produced + records):
            writer.produce(self.topic, f'{{"n": {number:7}}}', partition=number % self.partitions)
        self.produced += records
        assert writer.flush(30) == 0

    def config(self, **more: Any) -> dict[str, Any]:
        own = {"bootstrap.servers": self.bootstrap_servers, "group.id": self.topic, "auto.offset.reset": "earliest"}
        return own | {key.replace("_", "."): value for key, value in more.items()}

    def run(
        self, spark: SparkSession, foreach_epoch: ForeachEpoch, config: dict[str, Any] | None = None, **options: Any
    ) -> Epochs:
        """With two slots and the Python reader by default."""
        given: dict[str, Any] = {"slots": 2, "name": self.topic, "reader": "python", **options}
        return epochs(spark, foreach_epoch, config=config or self.config(), topics=[self.topic], **given)

    def read_all(
        self, spark: SparkSession, foreach_epoch: ForeachEpoch, config: dict[str, Any] | None = None, **options: Any
    ) -> None:
        """All that is there now."""
        with self.run(spark, foreach_epoch, config, available_now=True, **options) as pipeline:
            pipeline.wait(PATIENCE_S)

    def committed(self) -> dict[TopicPartition, int]:
        places = [TopicPartition(self.topic, number) for number in range(self.partitions)]
        with GroupAdmin(self.bootstrap_servers) as admin:
            return {place: found.offset for place, found in admin.committed(self.topic, places).items()}

    def group_epoch(self) -> int:
        """It grows with every rebalance."""
        with GroupAdmin(self.bootstrap_servers) as admin:
            epoch = admin.describe(self.topic, lag=False).epoch
        assert epoch is not None
        return epoch

    def classic_rebalances(self, kafka: KafkaCluster) -> int:
        """How often the coordinator of a classic group has begun one."""
        return kafka.log().count(f"Preparing to rebalance group {self.topic} ")

    @property
    def all_numbers(self) -> Counter[int]:
        return Counter(range(self.produced))

    def numbers_in(self, spark: SparkSession, path: Path) -> Counter[int]:
        """In what a ParquetSink has written, as any reader sees it."""
        return numbers_of(row.value for row in spark.read.parquet(str(path)).select("value").collect())


class Collecting:
    """A foreach_epoch that keeps what it was given, and reads it."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, Counter[int], tuple[OffsetRange, ...]]] = []

    def __call__(self, df: DataFrame, epoch_id: int, offset_ranges: tuple[OffsetRange, ...]) -> None:
        self.epochs.append((epoch_id, numbers_of(row.value for row in df.select("value").collect()), offset_ranges))

    @property
    def ids(self) -> list[int]:
        return [epoch for epoch, _, _ in self.epochs]

    @property
    def numbers(self) -> Counter[int]:
        return sum((numbers for _, numbers, _ in self.epochs), Counter[int]())


def numbers_of(values: Iterable[bytes | bytearray]) -> Counter[int]:
    return Counter(json.loads(bytes(value))["n"] for value in values)
