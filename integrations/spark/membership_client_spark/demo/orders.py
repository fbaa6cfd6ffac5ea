"""The orders of the demonstration. All values of an order follow from its number, so the expected sums are known."""

from __future__ import annotations

import json
from typing import Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC: Final = "orders"
PARTITIONS: Final = 6
SCHEMA: Final = "id BIGINT, customer STRING, cents BIGINT"

_CUSTOMERS = ("Ada", "Grace", "Katherine", "Margaret", "Barbara")
_MANY = 10_000
_FLUSH_S = 60.0


class OrdersError(RuntimeError):
    """The topic was not created, or the broker did not accept all orders."""


def cents_of(number: int) -> int:
    """The price of an order: from 1.00 to 99.99, different for neighbours."""
    return 100 + number * 7919 % 9900


def value_of(number: int) -> bytes:
    customer = _CUSTOMERS[number % len(_CUSTOMERS)]
    return json.dumps({"id": number, "customer": customer, "cents": cents_of(number)}).encode()


def create_topic(bootstrap_servers: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    try:
        client.create_topics([NewTopic(TOPIC, PARTITIONS, 1)], operation_timeout=30)[TOPIC].result()
    except KafkaException as error:
        raise OrdersError(f"The topic {TOPIC} was not created: {error.args[0].str()}.") from error


def produce(bootstrap_servers: str, records: int) -> int:
    """Produces orders 0 up to `records`, to all partitions in turn. Returns their total price in cents.

    OrdersError unless the broker has accepted all of them.
    """
    # One request at a time: the first record of a new topic may be refused because its leader is not ready. When it is sent
    # again after the second record, the broker takes it for a duplicate, drops it, and reports it as delivered.
    once = {"enable.idempotence": True, "max.in.flight": 1}
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 0, **once})
    for number in range(records):
        producer.produce(TOPIC, value_of(number), partition=number % PARTITIONS)
        if number % _MANY == _MANY - 1:
            producer.flush(_FLUSH_S)
    if left := producer.flush(_FLUSH_S):
        raise OrdersError(f"{left} orders were not accepted by the broker within {_FLUSH_S:g} s.")
    return sum(map(cents_of, range(records)))
