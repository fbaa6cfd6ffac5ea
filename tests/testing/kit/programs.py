"""Small programs for the tests of the kit."""

from __future__ import annotations

from typing import Any

CONFIG = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}


def careful(instance: Any) -> None:
    """Commits each record before the next."""
    consumer = instance.consumer(CONFIG)
    consumer.subscribe(["orders"])
    try:
        while True:
            message = consumer.poll(1.0)
            if message is not None:
                instance.processed(message)
                consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


def careless(instance: Any) -> None:
    """Commits each record before it is processed, so a crash loses one."""
    consumer = instance.consumer(CONFIG)
    consumer.subscribe(["orders"])
    try:
        while True:
            message = consumer.poll(1.0)
            if message is not None:
                consumer.commit(message, asynchronous=False)
                instance.processed(message)
    finally:
        consumer.close()


def automatic(instance: Any) -> None:
    """Leaves the commits to the consumer."""
    with instance.consumer({"auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe(["orders"])
        for message in consumer:
            instance.processed(message)
