"""The program of docs/start.md: consume orders, and print what the group does to this consumer.

Run it with the address of a broker that has a topic `orders`, and an instance id if it is to be a static member.
"""

import sys

from membership_client import Consumer


def on_assign(consumer, partitions, context):
    print("got", sorted(p.partition for p in partitions), "-", context.cause, flush=True)


def on_revoke(consumer, partitions, context):
    print("gave up", sorted(p.partition for p in partitions), "-", context.cause, flush=True)


config = {"bootstrap.servers": sys.argv[1], "group.id": "shop", "auto.offset.reset": "earliest"}
config["trace.file"] = "traces/{group}-{instance}-{pid}.jsonl"
if len(sys.argv) > 2:
    config["group.instance.id"] = sys.argv[2]
    config["group.instance.id.conflict"] = "takeover"
with Consumer(config) as consumer:
    consumer.stop_on_signals().subscribe(["orders"], on_assign=on_assign, on_revoke=on_revoke)
    for message in consumer:
        print("order", message.value().decode(), flush=True)
