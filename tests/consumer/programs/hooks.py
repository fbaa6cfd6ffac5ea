"""Rebalance callbacks, with a commit in on_revoke; the subscription changes, and the consumer is used once too often."""
# ruff: noqa: T201 - printing is its job

import sys

import confluent_kafka
from confluent_kafka import Consumer

Places = list[confluent_kafka.TopicPartition]

told: list[str] = []


def on_assign(consumer: Consumer, partitions: Places) -> None:
    told.append(f"assigned {sorted(place.partition for place in partitions)}")


def on_revoke(consumer: Consumer, partitions: Places) -> None:
    told.append(f"revoked {sorted(place.partition for place in partitions)}")
    committed = consumer.commit(asynchronous=False) or []
    told.append(f"committed {[(place.partition, place.offset) for place in sorted(committed)]}")


def read(consumer: Consumer, count: int) -> None:
    while count:
        message = consumer.poll(1.0)
        if message is not None:
            assert message.error() is None
            count -= 1


def main() -> None:
    servers, group, first, second = sys.argv[1:]
    config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(config | {"enable.auto.commit": False})
    consumer.subscribe([first], on_assign=on_assign, on_revoke=on_revoke)
    read(consumer, 300)
    consumer.subscribe([second], on_assign=on_assign, on_revoke=on_revoke)
    read(consumer, 300)
    consumer.close()
    print("\n".join(told))
    try:
        consumer.poll(1.0)
    except RuntimeError:
        print("closed")


if __name__ == "__main__":
    main()
