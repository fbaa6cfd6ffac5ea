"""Consume, transform, produce, each batch in one transaction with the offsets it comes from."""
# ruff: noqa: T201 - printing is its job

import sys

import confluent_kafka
from confluent_kafka import Consumer

RECORDS = 300


def transform(consumer: Consumer, producer: confluent_kafka.Producer, target: str) -> int:
    batch = consumer.consume(num_messages=100, timeout=1.0)
    if not batch:
        return 0
    producer.begin_transaction()
    for message in batch:
        value = message.value()
        assert value is not None
        producer.produce(target, key=message.key(), value=b"seen " + value, partition=message.partition() or 0)
    places = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata())
    producer.commit_transaction()
    return len(batch)


def main() -> None:
    servers, group, source, target = sys.argv[1:]
    config = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(config | {"auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": group})
    producer.init_transactions()
    consumer.subscribe([source])
    count = 0
    while count < RECORDS:
        count += transform(consumer, producer, target)
    consumer.close()
    print("transformed", count)


if __name__ == "__main__":
    main()
