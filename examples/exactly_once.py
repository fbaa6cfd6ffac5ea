"""Reads orders, writes invoices: each order has exactly one invoice, whatever happens to the process in between.

    python examples/exactly_once.py localhost:9092 invoicing-0

The second argument is the `transactional.id`: the same for a process and its replacement, and different for each process.
"""

import sys

from membership_client.confluent import Consumer, KafkaException, Producer


def write_invoices(consumer, producer):
    batch = consumer.consume(500, timeout=1.0)
    for message in batch:
        if message.error():
            raise KafkaException(message.error())
    if not batch:
        return
    producer.begin_transaction()
    try:
        for message in batch:
            producer.produce("invoices", b"invoice for " + message.value())
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata())
        producer.commit_transaction()
    except BaseException:
        producer.abort_transaction()
        raise


servers = {"bootstrap.servers": sys.argv[1]}
producer = Producer({**servers, "transactional.id": sys.argv[2]})
producer.init_transactions()
config = {"group.id": "invoicing", "enable.auto.commit": False, "isolation.level": "read_committed"}
with Consumer({**servers, **config, "auto.offset.reset": "earliest"}) as consumer:
    consumer.subscribe(["orders"])
    while True:
        write_invoices(consumer, producer)
