"""A driver program: every slot leaves a note that says where it runs, and stays until it is killed.

Its task: `slots`, how many there are, and `directory`, where the notes go.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import NoReturn

from pyspark import TaskContext

from tests.spark.clusters.driving import session, task


def attend(slot: int, directory: Path) -> NoReturn:
    """What a slot's task does."""
    context = TaskContext.get()
    assert context is not None
    note = {"slot": slot, "attempt": context.attemptNumber(), "host": os.environ["SPARK_LOCAL_IP"], "pid": os.getpid()}
    draft = directory / f"draft-{os.getpid()}"
    draft.write_text(json.dumps(note))
    draft.rename(directory / f"slot-{slot}-attempt-{context.attemptNumber()}.json")
    while True:
        time.sleep(0.05)


def main() -> None:
    slots, directory = task()["slots"], Path(task()["directory"])
    with session() as spark:
        calls = spark.sparkContext.parallelize(range(slots), slots)
        calls.mapPartitionsWithIndex(lambda slot, _: attend(slot, directory)).collect()


if __name__ == "__main__":
    main()
