"""Reads a topic with one kind of consumer and prints what the process then holds, in MB: for `throughput.py`.

It imports nothing of ours unless it is told to use our Consumer.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from pathlib import Path

_MODULES = {"ours": "membership_client", "confluent": "confluent_kafka"}


def main() -> None:
    # The codec loads it where it is installed, which is where this project is developed and not where it is used.
    sys.modules["hypothesis"] = sys.modules["hypothesis.strategies"] = None  # type: ignore[assignment]
    task = json.loads(sys.argv[1])
    config = {
        "bootstrap.servers": task["bootstrap_servers"],
        "group.id": f"{task['topic']}-memory-{os.getpid()}",
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        # How far ahead it has fetched at the end is chance, so that is kept small.
        "queued.max.messages.kbytes": 2048,
    }
    consumer = importlib.import_module(_MODULES[task["kind"]]).Consumer(config)
    consumer.subscribe([task["topic"]])
    read = 0
    while read < task["records"]:
        read += consumer.poll(1.0) is not None
    print(resident_mb())  # noqa: T201 - the parent reads it
    consumer.close()


def resident_mb() -> float:
    """As Linux counts it."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
