"""What the tests of all sinks play: epochs of one topic, drivers that write one epoch at once, and one that was replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from membership_client import TopicPartition
from membership_client_spark import EpochTakenError, ForeignSinkError, OffsetRange, SupersededError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RANGES = (OffsetRange("t", 0, 0, 3), OffsetRange("t", 1, 5, 6))
LONGER = (OffsetRange("t", 0, 0, 9), OffsetRange("t", 1, 5, 6))
NEXT = (OffsetRange("t", 0, 3, 7),)
ENDS = {TopicPartition("t", 0): 3, TopicPartition("t", 1): 6}
"""After an epoch with RANGES."""

UPSERT = (
    "MERGE INTO {table} t USING {rows} r ON t.id = r.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)

Sink = Callable[["DataFrame", int, tuple[OffsetRange, ...]], None]


def replaced() -> None:
    """The check of a driver that a newer one has replaced."""
    raise SupersededError("a newer one runs")


def racing(sinks: Sequence[Sink], frames: Sequence[DataFrame], ranges: Sequence[tuple[OffsetRange, ...]]) -> list[str]:
    """All write epoch 2 at once; what became of each, in alphabetical order."""
    barrier, told = threading.Barrier(len(sinks)), ["published"] * len(sinks)

    def write(number: int) -> None:
        barrier.wait()
        try:
            sinks[number](frames[number], 2, ranges[number])
        except (EpochTakenError, ForeignSinkError) as error:
            told[number] = type(error).__name__

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(sinks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(told)


def race_with_different_ends(spark: SparkSession, sinks: Sequence[Sink]) -> list[str]:
    """Each driver has planned the epoch with another end, and writes two rows."""
    frames = [spark.range(number * 10, number * 10 + 2) for number in range(len(sinks))]
    return racing(sinks, frames, [(OffsetRange("t", 0, 0, 2 + number),) for number in range(len(sinks))])


def race_of_groups(spark: SparkSession, sinks: Sequence[Sink]) -> list[str]:
    """Drivers of different groups write the same rows and ranges."""
    return racing(sinks, [spark.range(2) for _ in sinks], [RANGES] * len(sinks))
