"""A Kafka in this process, a consumer in its group, and what the group did to it. Needs nothing but the package."""

from confluent_kafka import Producer

from membership_client import Consumer
from membership_client.testing import EmbeddedKafka

with EmbeddedKafka(topics={"orders": 3}) as kafka:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("orders", "two pears")
    producer.flush()
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "shop", "auto.offset.reset": "earliest"}
    with Consumer(config) as consumer:
        consumer.subscribe(["orders"])
        print(consumer.poll(10).value())
        consumer.poll(1)  # No other record is there.
        print(consumer.last_rebalance)
        print(consumer.explain())
