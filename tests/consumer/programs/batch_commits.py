"""Commits by hand: after every batch and wait, after every record and wait, and in the background with a callback."""
# ruff: noqa: T201 - printing is its job

import sys
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer

RECORDS = 300

told: list[list[tuple[int, int]]] = []


def on_commit(error: Any, partitions: list[confluent_kafka.TopicPartition]) -> None:
    assert error is None, error
    # confluent-kafka also names the partitions that had nothing new, without an offset.
    told.append(sorted((place.partition, place.offset) for place in partitions if place.offset >= 0))


def read(consumer: Consumer, count: int) -> list[confluent_kafka.Message]:
    batch: list[confluent_kafka.Message] = []
    while len(batch) < count:
        batch += consumer.consume(num_messages=count - len(batch), timeout=1.0)
    assert all(message.error() is None for message in batch)
    return batch


def commit_batches(consumer: Consumer) -> None:
    """Whatever the batches are made of, they add up."""
    highest: dict[int, int] = {}
    for _ in range(3):
        read(consumer, 50)
        for place in consumer.commit(asynchronous=False) or ():
            assert place.error is None
            highest[place.partition] = max(0, place.offset, highest.get(place.partition, 0))
    print("after batches:", sum(highest.values()))


def commit_records(consumer: Consumer) -> None:
    for message in read(consumer, 10):
        (place,) = consumer.commit(message=message, asynchronous=False) or [confluent_kafka.TopicPartition("none")]
        print("after a record:", place.offset - (message.offset() or 0))


def commit_in_background(consumer: Consumer, topic: str) -> None:
    read(consumer, RECORDS - 160)
    told.clear()
    print("returned:", consumer.commit(asynchronous=True))
    places = [confluent_kafka.TopicPartition(topic, number, 60 + number) for number in range(3)]
    consumer.commit(offsets=places, asynchronous=True)
    while len(told) < 2:
        consumer.poll(0.1)
    print("told:", {offset for _, offset in told[0]}, told[1])


def commit_nothing(consumer: Consumer) -> None:
    consumer.commit(asynchronous=False)
    try:
        consumer.commit(asynchronous=False)
    except confluent_kafka.KafkaException as error:
        print("nothing new:", error.args[0].name())


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer({**config, "on_commit": on_commit})
    consumer.subscribe([topic])
    commit_batches(consumer)
    commit_records(consumer)
    commit_in_background(consumer, topic)
    commit_nothing(consumer)
    consumer.close()


if __name__ == "__main__":
    main()
