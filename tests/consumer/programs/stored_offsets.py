"""Batches of which only what was handled is stored, and stored offsets are what automatic commits commit."""
# ruff: noqa: T201 - printing is its job

import json
import sys
from collections import defaultdict

import confluent_kafka
from confluent_kafka import Consumer

RECORDS = 300


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": 200,
    }
    consumer = Consumer(config)
    consumer.subscribe([topic])
    seen: defaultdict[int | None, list[int | None]] = defaultdict(list)
    while sum(map(len, seen.values())) < RECORDS:
        for message in consumer.consume(50, 1.0):
            assert message.error() is None
            offset = message.offset()
            assert offset is not None
            seen[message.partition()].append(offset)
            if message.partition() == 0 and offset < 40:
                consumer.store_offsets(message=message)
            elif message.partition() == 1 and offset == 70:
                consumer.store_offsets(offsets=[confluent_kafka.TopicPartition(topic, 1, offset, "so far")])
    try:
        consumer.store_offsets(offsets=[confluent_kafka.TopicPartition(topic, 17, 1)])
    except confluent_kafka.KafkaException as error:
        print("not assigned:", error.args[0].name())
    consumer.close()
    print(json.dumps(seen, sort_keys=True))


if __name__ == "__main__":
    main()
