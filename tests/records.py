"""Topics with records in them, and what is in one."""

from __future__ import annotations

import time
import uuid
from collections import Counter

from confluent_kafka import Consumer, Producer, TopicPartition

from membership_client.testing import ClusterAdmin
from tests.integration.members import QUICK

_SEEN_WITHIN_S = 30.0


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


def await_outputs(bootstrap_servers: str, topic: str, wanted: int) -> Counter[bytes | None]:
    """How often committed transactions wrote which value to the topic's only partition; waits for so many, not for ever.

    Offsets are committed a moment before the outputs of the same transaction can be seen.
    """
    give_up_at = time.monotonic() + _SEEN_WITHIN_S
    while (outputs := _count_outputs(bootstrap_servers, topic)).total() < wanted and time.monotonic() < give_up_at:
        time.sleep(0.5)
    return outputs


def _count_outputs(bootstrap_servers: str, topic: str) -> Counter[bytes | None]:
    config = {"group.id": topic, "isolation.level": "read_committed", "enable.partition.eof": True}
    reader = Consumer({"bootstrap.servers": bootstrap_servers, "log_level": 0, **config})
    reader.assign([TopicPartition(topic, 0, 0)])
    found: Counter[bytes | None] = Counter()
    ended = False
    while not ended:
        for message in reader.consume(1000, 1.0):
            ended = message.error() is not None
            found.update([] if ended else [message.value()])
    reader.close()
    return found
