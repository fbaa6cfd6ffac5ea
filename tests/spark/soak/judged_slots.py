"""The program of a driver whose slots write diaries for the judge of the soak, beside busy threads."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.soak.busy import BusyHandler
from tests.spark.consume.consuming import main

if TYPE_CHECKING:
    import pyarrow as pa

    from membership_client_spark import Slot

PROGRAM = Path(__file__)


def judged(directory: str) -> Callable[[pa.RecordBatch, Slot], None]:
    """A handler that writes down what it gets, in a file per incarnation.

    A slot is not told of its callbacks. Where its records do not follow each other it has been assigned the partition once
    more, which the judge then compares with what was committed before.
    """
    ends: dict[tuple[str, int], int] = {}

    def handle(batch: pa.RecordBatch, slot: Slot) -> None:
        began_at = time.monotonic()
        diary = Path(directory, f"{slot.instance_id}@{slot.incarnation}")
        for partition, offset in zip(batch["partition"].to_pylist(), batch["offset"].to_pylist(), strict=True):
            if ends.get((diary.name, partition)) != offset:
                _note(diary, "assign", partition, epoch=time.monotonic_ns(), began_at=began_at)
            _note(diary, "read", partition, offset=offset, count=1, began_at=began_at, confirmed_at=0.0)
            ends[diary.name, partition] = offset + 1

    return handle


def _note(diary: Path, kind: str, partition: int, **facts: Any) -> None:
    line = json.dumps({"at": time.monotonic(), "kind": kind, "partitions": [partition], **facts})
    file = os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, f"{line}\n".encode())
    os.close(file)


if __name__ == "__main__":
    main(lambda directory: BusyHandler(judged(directory)))
