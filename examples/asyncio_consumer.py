"""Consume records in a coroutine; commit each when it is done; say why partitions are taken away.

Run it with the address of a broker that has a topic `orders`; end it with Ctrl-C or SIGTERM.
"""

import asyncio
import contextlib
import signal
import sys

from membership_client import aio


async def on_revoke(consumer, partitions, context):
    await asyncio.sleep(0)  # A callback may await what it needs, also of the consumer; the group waits for it.
    print("giving up", sorted(p.partition for p in partitions), "because", context.cause, flush=True)


async def handle(consumer, message):
    await asyncio.sleep(0.01)
    print("order", message.value(), "epoch", consumer.owner_epoch(message), flush=True)


async def main(bootstrap_servers):
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    config = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "shop-in-asyncio",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    async with aio.Consumer(config) as consumer:
        consumer.subscribe(["orders"], on_revoke=on_revoke)
        async for message in consumer:
            async with consumer.hold(message):  # However long it takes, we stay in the group.
                await handle(consumer, message)
                await consumer.commit(message)


with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
    asyncio.run(main(sys.argv[1]))
