"""Slots of two kinds under one Spark: ours, and tasks that consume with plain confluent-kafka, both noting what they own."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from membership_client_spark import Slot, consume

_SUPERVISOR_PAUSE_S = 0.5


class Note(NamedTuple):
    """A process has so many partitions of a slot."""

    at: float
    pid: int
    partitions: tuple[int, ...]


class Diary:
    """Notes of all slots, in files that tasks append to."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.directory = directory

    def notes(self, slot: int) -> list[Note]:
        """All but one that is being written."""
        texts = (file.read_text().rpartition("\n")[0] for file in self.directory.glob(f"{slot}-*"))
        lines = (line for text in texts for line in text.splitlines())
        return sorted(Note(at, pid, tuple(partitions)) for at, pid, partitions in map(json.loads, lines))

    def end(self) -> None:
        """Tells the peers' tasks to return."""
        (self.directory / "end").touch()


def write_note(directory: Path, slot: int, partitions: set[int]) -> None:
    with (directory / f"{slot}-{os.getpid()}").open("a") as file:
        file.write(json.dumps([time.time(), os.getpid(), sorted(partitions)]) + "\n")


def run_ours(
    spark: SparkSession, config: Mapping[str, Any], topic: str, slots: int, diary: Diary
) -> Callable[[], None]:
    """Starts our slots; the result ends them. They count as owners with the first record in the handler's hands."""
    directory = diary.directory

    def handle(_: pa.RecordBatch, slot: Slot) -> None:
        write_note(directory, slot.number, {place.partition for place in slot.partitions()})

    return consume(spark, slots=slots, name="ours", config=config, topics=[topic], handle=handle).stop


def run_peers(
    spark: SparkSession, config: Mapping[str, Any], topic: str, slots: int, diary: Diary
) -> Callable[[], None]:
    """Starts slots that do the same with confluent-kafka, as well as it can; the result ends them."""
    threads = [
        threading.Thread(target=_keep_peer, args=(spark, dict(config), topic, slot, diary.directory), daemon=True)
        for slot in range(slots)
    ]
    for thread in threads:
        thread.start()

    def end() -> None:
        diary.end()
        for thread in threads:
            thread.join()

    return end


def _keep_peer(spark: SparkSession, config: dict[str, Any], topic: str, slot: int, directory: Path) -> None:
    def task(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        while not (directory / "end").exists():
            _be_peer(config | {"group.instance.id": f"peer-{slot}"}, topic, slot, directory)
            time.sleep(_SUPERVISOR_PAUSE_S)
        yield pa.RecordBatch.from_pydict({"done": [True]})

    while not (directory / "end").exists():
        try:
            spark.range(0, 1, 1, 1).mapInArrow(task, "done boolean").collect()
        except PySparkException:
            time.sleep(_SUPERVISOR_PAUSE_S)


def _be_peer(config: dict[str, Any], topic: str, slot: int, directory: Path) -> None:
    """Until the end, or until its consumer is of no use any more, as while its instance id has not been released."""
    consumer = confluent_kafka.Consumer(config)
    try:
        consumer.subscribe([topic])
        while not (directory / "end").exists():
            message = consumer.poll(0.2)
            if message is None:
                continue
            if (error := message.error()) is None:
                write_note(directory, slot, {place.partition for place in consumer.assignment()})
            # Its flag for errors that are fatal is not set for those that a message brings.
            elif error.code() == confluent_kafka.KafkaError._FATAL:
                return
    finally:
        consumer.close()
