"""The program of a driver that starts `consume` again and again, each time in a new group with a busy thread in each worker.

Its task: `servers`, `topic`, `records` in it, `starts`, and `directory`. Says "start" for each one, with how many records
were lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from membership_client import TopicPartition
from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin
from membership_client_spark import Slot, consume
from tests.integration.members import QUICK
from tests.soak.busy import BusyHandler
from tests.spark.clusters.driving import say, session, task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PROGRAM = Path(__file__)
STUCK_S = 150.0
"""On a machine that has much else to do; when all is well nothing waits for it."""


def noting(directory: str) -> Callable[[pa.RecordBatch, Slot], None]:
    """A handler that appends a line with partition and offset for each record it gets."""

    def handle(batch: pa.RecordBatch, slot: Slot) -> None:
        places = zip(batch["partition"].to_pylist(), batch["offset"].to_pylist(), strict=True)
        lines = "".join(f"{partition} {offset}\n" for partition, offset in places)
        file = os.open(Path(directory, slot.instance_id), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, lines.encode())
        os.close(file)

    return handle


def main() -> None:
    given = task()
    with session() as spark:
        for number in range(given["starts"]):
            say("start", number=number, **one_start(spark, given, number))


def one_start(spark: SparkSession, given: dict[str, Any], number: int) -> dict[str, int]:
    """How many records were committed and no handler got them (`lost`), and how many were never committed (`left`)."""
    group, directory = f"{given['topic']}-{number}", Path(given["directory"], str(number))
    directory.mkdir()
    ClusterAdmin(given["servers"]).set_group_config(group, **QUICK)
    config = {"bootstrap.servers": given["servers"], "group.id": group, "auto.offset.reset": "earliest"}
    handle = BusyHandler(noting(str(directory)))
    job: dict[str, Any] = {"slots": 2, "name": "slot", "topics": [given["topic"]], "max_records": 100}
    with consume(spark, config=config, handle=handle, **job), GroupAdmin(given["servers"]) as admin:
        committed = await_end(admin, group, given)
    got = {tuple(map(int, line.split())) for diary in directory.iterdir() for line in diary.read_text().splitlines()}
    past = {(place.partition, offset) for place, end in committed.items() for offset in range(end)}
    return {"lost": len(past - got), "left": given["records"] - len(past)}


def await_end(admin: GroupAdmin, group: str, given: dict[str, Any]) -> dict[TopicPartition, int]:
    """Until everything is committed, or nothing more has been for a while: records that were dropped do not come again."""
    places = [TopicPartition(given["topic"], partition) for partition in range(given["partitions"])]
    committed: dict[TopicPartition, int] = {}
    moved_at = time.monotonic()
    while sum(committed.values()) < given["records"] and time.monotonic() < moved_at + STUCK_S:
        time.sleep(0.1)
        now = {place: offset.offset for place, offset in admin.committed(group, places).items()}
        committed, moved_at = now, moved_at if now == committed else time.monotonic()
    return committed


if __name__ == "__main__":
    main()
