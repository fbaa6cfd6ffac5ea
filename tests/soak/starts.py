"""A Consumer starts again and again in a new group beside a busy thread, as a Spark slot does, and reads all there is.

    python -m tests.soak.starts SERVERS TOPIC RECORDS STARTS

Prints a JSON line for each start: how many records were committed or passed by without having been handed out (`lost`).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from confluent_kafka import Message

from membership_client import Consumer
from membership_client.testing import ClusterAdmin
from tests.integration.members import QUICK
from tests.soak.busy import SELDOM_S, keep_busy
from tests.soak.programs import owned

BATCH = 100
STUCK_S = 20.0


def lost_of_one_start(config: dict[str, Any], topic: str, records: int) -> int:
    """Reads until everything has come, or nothing more comes."""
    got: set[tuple[int | None, int | None]] = set()
    came_at = time.monotonic()
    with Consumer(config) as consumer:
        consumer.subscribe([topic])
        while len(got) < records and time.monotonic() < came_at + STUCK_S:
            batch = consumer.consume(BATCH, 0.5)
            came_at = time.monotonic() if batch else came_at
            got |= _hand_over(consumer, batch)
    return records - len(got)


def _hand_over(consumer: Consumer, batch: list[Message]) -> set[tuple[int | None, int | None]]:
    """Only what is ours at this moment; it is committed."""
    kept = owned(consumer, batch)
    if kept:
        consumer.commit(asynchronous=False)
    return {(message.partition(), message.offset()) for message in kept}


def main() -> None:
    servers, topic, records, starts = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    keep_busy(SELDOM_S)
    for number in range(starts):
        group = f"{topic}-{number}"
        ClusterAdmin(servers).set_group_config(group, **QUICK)
        config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
        lost = lost_of_one_start({**config, "enable.auto.commit": False}, topic, records)
        sys.stdout.write(json.dumps({"start": number, "lost": lost}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
