"""`instance.read` of `kafka_group`: None is the end of the partition."""

from __future__ import annotations

from typing import Any

from membership_client.testing import KafkaGroup
from membership_client.types import TopicPartition


def test_records_that_exist_are_read_wherever_the_fetcher_goes(kafka_group: KafkaGroup) -> None:
    """It once gave up after 0.1 s, while librdkafka waited half a second for more records at the old position."""
    kafka_group.produce(20)
    ends = kafka_group.kafka.end_offsets("orders")
    places = [(partition, offset) for partition, end in ends.items() for offset in reversed(range(end))]
    seen: list[object] = []

    def program(instance: Any) -> None:
        for partition, offset in places:
            message = instance.read(partition, offset)
            seen.append(message and (TopicPartition(message.topic(), message.partition()), message.offset()))
        seen.extend(instance.read(partition, end) for partition, end in ends.items())
        instance.durable["done"] = True

    kafka_group.join("a", program)
    kafka_group.wait_for(lambda: kafka_group.history.durable.get("done"))
    assert seen == [*places, *[None] * len(ends)]


def test_a_record_that_comes_later_is_read_then(kafka_group: KafkaGroup) -> None:
    """None means the end at this moment."""
    found: list[bytes | None] = []

    def program(instance: Any) -> None:
        partition, offset = TopicPartition("orders", 0), 0
        while not found[1:]:
            message = instance.read(partition, offset)
            if message is not None or not found:
                found.append(message and message.value())

    kafka_group.join("a", program)
    kafka_group.wait_for(lambda: found)
    kafka_group.produce(20)
    kafka_group.wait_for(lambda: found[1:])
    values = {(one.partition, one.offset): one.value for one in kafka_group.history.records}
    assert found == [None, values[TopicPartition("orders", 0), 0]]
