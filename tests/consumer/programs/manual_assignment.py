"""No subscription: the program picks partitions and offsets, and uses the group only to remember how far it came."""
# ruff: noqa: T201 - printing is its job

import json
import sys
from collections import defaultdict

import confluent_kafka
from confluent_kafka import Consumer


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(config | {"enable.auto.commit": False})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 20), confluent_kafka.TopicPartition(topic, 2)])
    seen: defaultdict[int | None, list[int | None]] = defaultdict(list)
    while sum(map(len, seen.values())) < 180:
        message = consumer.poll(1.0)
        if message is not None:
            assert message.error() is None
            seen[message.partition()].append(message.offset())
    places = consumer.commit(asynchronous=False) or []
    print("committed:", [(place.partition, place.offset) for place in sorted(places)])
    consumer.incremental_assign([confluent_kafka.TopicPartition(topic, 1, 95)])
    while len(seen[1]) < 5:
        message = consumer.poll(1.0)
        if message is not None:
            seen[message.partition()].append(message.offset())
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 1, 98, "by hand")], asynchronous=False)
    consumer.incremental_unassign([confluent_kafka.TopicPartition(topic, 0)])
    print("assigned:", sorted(place.partition for place in consumer.assignment()))
    consumer.unassign()
    print("assigned:", consumer.assignment())
    consumer.close()
    print(json.dumps(seen, sort_keys=True))


if __name__ == "__main__":
    main()
