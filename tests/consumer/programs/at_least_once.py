"""At least once: poll, handle, and let the client commit every so often. Stops at the end of every partition."""
# ruff: noqa: T201 - printing is its job

import json
import sys
from collections import defaultdict

import confluent_kafka
from confluent_kafka import Consumer


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 100,
        "enable.partition.eof": True,
    }
    consumer = Consumer(config)
    consumer.subscribe([topic])
    seen: defaultdict[int | None, list[object]] = defaultdict(list)
    ended: set[int | None] = set()
    try:
        while len(ended) < 3:
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is None:
                seen[message.partition()].append((message.offset(), message.key(), message.value()))
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            else:
                raise confluent_kafka.KafkaException(error)
    finally:
        consumer.close()
    print(json.dumps(seen, sort_keys=True, default=bytes.decode))


if __name__ == "__main__":
    main()
