"""Reads the second half of a topic, then a part of that again: on_assign says where to start, and later seek()."""
# ruff: noqa: T201 - printing is its job

import json
import sys
from collections import defaultdict

import confluent_kafka
from confluent_kafka import Consumer

seen: defaultdict[int | None, list[int | None]] = defaultdict(list)


def start_in_the_middle(consumer: Consumer, partitions: list[confluent_kafka.TopicPartition]) -> None:
    print("assigned:", [(place.partition, place.offset) for place in sorted(partitions)])
    for place in partitions:
        place.offset = 50
    consumer.assign(partitions)


def read(consumer: Consumer, count: int) -> None:
    while count > 0:
        message = consumer.poll(1.0)
        if message is not None:
            assert message.error() is None
            seen[message.partition()].append(message.offset())
            count -= 1


def show(what: str, places: list[confluent_kafka.TopicPartition]) -> None:
    print(what, [(place.partition, place.offset) for place in sorted(places)])


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    consumer.subscribe([topic], on_assign=start_in_the_middle)
    read(consumer, 150)
    show("position:", consumer.position(consumer.assignment()))
    show("committed:", consumer.commit(asynchronous=False) or [])
    consumer.seek(confluent_kafka.TopicPartition(topic, 1, 80))
    # Not to its end: what is committed goes back as well.
    read(consumer, 5)
    consumer.close()
    print(json.dumps(seen, sort_keys=True))


if __name__ == "__main__":
    main()
