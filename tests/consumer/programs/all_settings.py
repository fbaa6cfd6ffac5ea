"""Configured in every way confluent-kafka knows: keywords, words for flags, callbacks, a logger, topic settings apart."""
# ruff: noqa: T201 - printing is its job

import logging
import sys
from typing import Any

from confluent_kafka import Consumer

heard: set[str] = set()


def on_error(error: Any) -> None:
    heard.add("error")


def on_statistics(statistics: str) -> None:
    heard.add("statistics")


def on_throttle(event: Any) -> None:
    heard.add("throttle")


def main() -> None:
    servers, group, topic = sys.argv[1:]
    config = {
        "metadata.broker.list": servers,
        "group.id": group,
        "client.id": "reader-1",
        "enable.auto.commit": "false",
        "fetch.wait.max.ms": "50",
        "statistics.interval.ms": 100,
        "error_cb": on_error,
        "stats_cb": on_statistics,
        "throttle_cb": on_throttle,
        "default.topic.config": {"auto.offset.reset": "smallest"},
    }
    consumer = Consumer(config, logger=logging.getLogger("reader"))
    consumer.subscribe([topic])
    count = 0
    while count < 300 or "statistics" not in heard:
        message = consumer.poll(1)
        count += message is not None and message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()
    print(count, sorted(heard))


if __name__ == "__main__":
    main()
