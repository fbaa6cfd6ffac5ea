"""The program of a driver that runs consume() by its task, prints its progress, and follows commands."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from membership_client import MembershipError
from membership_client_spark import Slot, SlotJob, consume
from membership_client_spark.slot import Handler
from tests.spark.clusters.driving import say, session, task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def diarist(directory: str) -> Callable[[pa.RecordBatch, Slot], None]:
    """A handler that writes down what it gets, and again when it is done with it, in a file per incarnation.

    While there is a file `hold-<slot>`, the handler of that slot does not return, and makes a file `held-<slot>`; with a
    file `hurry` it raises as soon as somebody waits for its end. A file `fail` makes it raise at once.
    """

    def handle(batch: pa.RecordBatch, slot: Slot) -> None:
        places = list(zip(batch["partition"].to_pylist(), batch["offset"].to_pylist(), strict=True))
        diary = Path(directory, f"{slot.instance_id}@{slot.incarnation}.jsonl")
        _note(diary, places, done=False)
        while Path(directory, f"hold-{slot.number}").exists():
            Path(directory, f"held-{slot.number}").touch()
            if slot.stopping() and Path(directory, "hurry").exists():
                raise InterruptedError("somebody waits")
            time.sleep(0.05)
        if Path(directory, "fail").exists():
            raise ValueError("this record cannot be handled")
        _note(diary, places, done=True)

    return handle


def _note(diary: Path, places: list[tuple[int, int]], *, done: bool) -> None:
    with diary.open("a") as file:
        file.write(json.dumps({"places": places, "done": done}) + "\n")


def main(handler: Callable[[str], Handler] = diarist) -> None:
    """With what the handler is to be made of: a directory."""
    given = task()
    with session() as spark:
        try:
            job = consume(spark, handle=handler(given["diaries"]), **given["consume"])
        except MembershipError as error:
            say("refused", error=str(error))
            return
        with job:
            threading.Thread(target=_tell_progress, args=(job,), daemon=True).start()
            threading.Thread(target=_tell_end, args=(job,), daemon=True).start()
            for line in sys.stdin:
                _obey(line.split(), job, spark)
        say("stopped")


def _obey(words: list[str], job: SlotJob, spark: SparkSession) -> None:
    if words[0] == "scale":
        job.scale(int(words[1]), reason=" ".join(words[2:]))
        say("scaled")
    else:
        spark.sparkContext.cancelAllJobs()


def _tell_progress(job: SlotJob) -> None:
    told: list[dict[str, Any]] = []
    while True:
        now = [_facts(one) for one in job.progress()]
        if now != told:
            told = now
            say("progress", slots=now)
        time.sleep(0.1)


def _facts(one: Any) -> dict[str, Any]:
    names = ("slot", "executor", "host", "pid", "state", "partitions", "rate", "lag", "restarts")
    return {name: getattr(one, name) for name in names} | {"incarnation": str(one.incarnation)}


def _tell_end(job: SlotJob) -> None:
    try:
        job.wait()
    except MembershipError as error:
        say("failed", kind_of_error=type(error).__name__, error=str(error))


if __name__ == "__main__":
    main()
