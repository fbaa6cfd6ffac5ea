"""Topics with records in them."""

from __future__ import annotations

import time
import uuid

from confluent_kafka import Producer

from membership_client.testing import ClusterAdmin
from tests.integration.members import QUICK


def filled_topic(bootstrap_servers: str, prefix: str, *, partitions: int, records: int, value: bytes = b"x") -> str:
    """A new topic whose records are spread evenly; the group of the same name has quick settings."""
    name = f"{prefix}-{uuid.uuid4().hex[:8]}"
    admin = ClusterAdmin(bootstrap_servers)
    admin.set_group_config(name, **QUICK)
    admin.create_topic(name, partitions)
    produce(bootstrap_servers, name, partitions=partitions, records=records, value=value)
    return name


def produce(
    bootstrap_servers: str, topic: str, *, partitions: int, records: int, value: bytes = b"x", ago_s: float = 0
) -> None:
    """Returns when all are written, evenly spread, with a time that is so long ago."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    errors: list[object] = []
    when_ms = int(1000 * (time.time() - ago_s))
    for number in range(records):
        producer.produce(
            topic,
            value,
            partition=number % partitions,
            on_delivery=lambda error, _: errors.append(error),
            timestamp=when_ms,
        )
    producer.flush()
    assert errors == [None] * records
