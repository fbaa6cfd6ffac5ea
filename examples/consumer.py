"""Consume records; say why partitions are taken away; take as long as a record needs.

Run it with the address of a broker that has a topic `orders`; end it with Ctrl-C or SIGTERM.
"""

import sys

from membership_client import Consumer


def on_revoke(consumer, partitions, context):
    print("giving up", sorted(p.partition for p in partitions), "because", context.cause, flush=True)


config = {"bootstrap.servers": sys.argv[1], "group.id": "shop", "auto.offset.reset": "earliest"}
with Consumer(config) as consumer:
    consumer.stop_on_signals().subscribe(["orders"], on_revoke=on_revoke)
    for message in consumer:
        with consumer.hold(message):  # However long it takes, we stay in the group...
            print("order", message.value(), "epoch", consumer.owner_epoch(message), flush=True)
            if consumer.revoke_pending(message):  # ...and know when the others wait for us.
                print("hurry", flush=True)
