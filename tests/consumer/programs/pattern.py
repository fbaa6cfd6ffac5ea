"""Subscribes to all topics whose names begin in a certain way."""
# ruff: noqa: T201 - printing is its job

import json
import sys
from collections import defaultdict

from confluent_kafka import Consumer


def main() -> None:
    servers, group, pattern, expected = sys.argv[1:]
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([pattern])
    seen: defaultdict[str, list[int | None]] = defaultdict(list)
    while sum(map(len, seen.values())) < int(expected):
        message = consumer.poll(1.0)
        if message is not None:
            assert message.error() is None
            seen[f"{message.topic()}[{message.partition()}]"].append(message.offset())
    consumer.close()
    print(json.dumps(seen, sort_keys=True))


if __name__ == "__main__":
    main()
