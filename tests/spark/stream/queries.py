"""Streaming queries over a Stage: their options, where they write, and what is there at the end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from membership_client.admin import GroupAdmin, MemberView
from membership_client_spark.demo.processes import family
from tests.integration.members import eventually
from tests.spark.pipeline.stage import PATIENCE_S, Stage, numbers_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
_AWAY = -2
"""The member epoch of a static member that has left temporarily."""


def stream_options(stage: Stage, **more: str) -> dict[str, str]:
    """From the first record on, with two slots, in the stage's group."""
    own = {"subscribe": stage.topic, "group.id": stage.topic, "name": stage.topic, "slots": "2"}
    return own | {"kafka.bootstrap.servers": stage.bootstrap_servers, "startingOffsets": "earliest"} | more


def stream(spark: SparkSession, stage: Stage, **more: str) -> DataFrame:
    """The frame that `load()` returns."""
    from membership_client_spark import KafkaGroupSource

    spark.dataSource.register(KafkaGroupSource)
    return spark.readStream.format("kafka-group").options(**stream_options(stage, **more)).load()


class Batches:
    """A directory with a checkpoint, and with a file tree for each batch, which a repeated batch replaces."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @property
    def checkpoint(self) -> str:
        return str(self._home / "checkpoint")

    def write(self, df: DataFrame, batch_id: int) -> None:
        """For foreachBatch."""
        df.select("value").write.mode("overwrite").parquet(str(self._home / f"batch={batch_id}"))

    def start(self, df: DataFrame, **trigger: Any) -> StreamingQuery:
        writer = df.writeStream.foreachBatch(self.write).option("checkpointLocation", self.checkpoint)
        return (writer.trigger(**trigger) if trigger else writer).start()

    def read_all(self, df: DataFrame, **trigger: Any) -> None:
        """All that is there now; returns when the query has ended."""
        query = self.start(df, **(trigger or {"availableNow": True}))
        assert query.awaitTermination(int(PATIENCE_S)), "the query ends"

    def numbers(self) -> Counter[int]:
        """Of the records in all batches that are complete."""
        found: Counter[int] = Counter()
        for done in self._home.glob("batch=*/_SUCCESS"):
            for file in done.parent.glob("*.parquet"):
                found += numbers_of(pq.read_table(file, partitioning=None)["value"].to_pylist())
        return found


def members(stage: Stage) -> dict[str | None, MemberView]:
    """By instance id, as the coordinator has them."""
    with GroupAdmin(stage.bootstrap_servers) as admin:
        return {one.instance_id: one for one in admin.describe(stage.topic, lag=False).members}


def lag(stage: Stage) -> int:
    """As `kafka-consumer-groups --describe` shows it."""
    return stage.produced - sum(stage.committed().values())


def await_all_away(stage: Stage) -> None:
    """Waits until all members have left temporarily, as a coordinator with KIP-848 shows it."""
    eventually(lambda: {one.epoch for one in members(stage).values()} == {_AWAY}, "all members are away", PATIENCE_S)


def planners(first: int) -> list[int]:
    """The pids of the processes in this family that plan batches."""
    return [one.pid for one in family(first) if _RUNNER in one.arguments]
