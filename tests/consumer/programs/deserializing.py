"""All of a topic through a DeserializingConsumer, with names of several modules of confluent-kafka."""
# ruff: noqa: T201 - printing is its job

import sys

from confluent_kafka import OFFSET_BEGINNING, DeserializingConsumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.error import ConsumeError, ValueDeserializationError
from confluent_kafka.serialization import SerializationContext, StringDeserializer


def number_of(value: bytes, context: SerializationContext) -> int:
    """Of `partition-number`; every fiftieth cannot be read."""
    number = int(value.decode().partition("-")[2])
    if number % 50 == 49:
        raise ValueError(f"no more than 48, in {context.field}")
    return number


def main(servers: str, group: str, topic: str) -> None:
    partitions = AdminClient({"bootstrap.servers": servers}).list_topics(topic, 30).topics[topic].partitions
    print("partitions:", sorted(partitions))
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "key.deserializer": StringDeserializer("utf_8"),
            "value.deserializer": number_of,
        }
    )
    consumer.subscribe([topic])
    total = 0
    unread = list[tuple[int | None, int | None, str]]()
    while total + len(unread) < 300:
        try:
            message = consumer.poll(1.0)
        except ValueDeserializationError as error:
            failed = error.kafka_message
            unread += [] if failed is None else [(failed.partition(), failed.offset(), error.name)]
            continue
        if message is not None:
            total += message.deserialized_key() == f"key {message.deserialized_value()}"
    print("read:", total, "not read:", sorted(unread))
    consumer.commit(offsets=[TopicPartition(topic, 0, 300 - total)], asynchronous=False)
    try:
        consumer.consume(1)
    except NotImplementedError:
        print("there is no consume()")
    consumer.close()
    print("begins at", OFFSET_BEGINNING, issubclass(ConsumeError, KafkaException))


main(*sys.argv[1:])
