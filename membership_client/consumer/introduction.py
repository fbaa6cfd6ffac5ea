"""Topics that librdkafka is to fetch are made known to it first: left to itself it looks for them once a second."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

import confluent_kafka
from confluent_kafka import KafkaException

from membership_client.types import TopicPartition

_LONGEST_S = 0.5
"""For all of them. Whatever is not found by then librdkafka finds later, as it would have anyway."""


def introduce(raw: confluent_kafka.Consumer, partitions: Iterable[TopicPartition]) -> None:
    """Any thread. Topics that are being fetched are known already, so most rebalances cost nothing."""
    deadline = time.monotonic() + _LONGEST_S
    known = {place.topic for place in raw.assignment()}
    for topic in sorted({partition.topic for partition in partitions} - known):
        if (left_s := deadline - time.monotonic()) <= 0:
            return
        with contextlib.suppress(KafkaException):
            raw.list_topics(topic, left_s)
