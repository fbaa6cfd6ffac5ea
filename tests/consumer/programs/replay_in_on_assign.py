"""Reads the last ten of each partition, whatever was committed: seek() in on_assign."""
# ruff: noqa: T201 - printing is its job

import json
import sys
from collections import defaultdict

import confluent_kafka
from confluent_kafka import Consumer

seen: defaultdict[int | None, list[int | None]] = defaultdict(list)


def rewind(consumer: Consumer, partitions: list[confluent_kafka.TopicPartition]) -> None:
    consumer.assign(partitions)
    for place in partitions:
        consumer.seek(confluent_kafka.TopicPartition(place.topic, place.partition, 90))


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    consumer.subscribe([topic], on_assign=rewind)
    while sum(map(len, seen.values())) < 30:
        message = consumer.poll(1.0)
        if message is not None:
            assert message.error() is None
            seen[message.partition()].append(message.offset())
    consumer.close()
    print(json.dumps(seen, sort_keys=True))


if __name__ == "__main__":
    main()
