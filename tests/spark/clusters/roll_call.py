"""A driver program: every slot leaves a note that says where it runs, and stays until it is dismissed.

Its task: `slots`, how many there are, and `directory`, where the notes go and where a file named `dismissed` ends the job.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from tests.spark.clusters.driving import say, session, task


def attend(slot: int, directory: Path) -> Iterator[dict[str, Any]]:
    """What a slot's task does."""
    context = TaskContext.get()
    assert context is not None
    note = {"slot": slot, "attempt": context.attemptNumber(), "host": os.environ["SPARK_LOCAL_IP"], "pid": os.getpid()}
    draft = directory / f"draft-{os.getpid()}"
    draft.write_text(json.dumps(note))
    draft.rename(directory / f"slot-{slot}-attempt-{context.attemptNumber()}.json")
    while not (directory / "dismissed").exists():
        time.sleep(0.05)
    yield note


def main() -> None:
    slots, directory = task()["slots"], Path(task()["directory"])
    with session() as spark:
        calls = spark.sparkContext.parallelize(range(slots), slots)
        notes = calls.mapPartitionsWithIndex(lambda slot, _: attend(slot, directory)).collect()
        say("dismissed", notes=notes)


if __name__ == "__main__":
    main()
