"""What a coroutine that awaits records wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import Message

from membership_client.consumer.buffer import place_of
from membership_client.consumer.events import concerns_no_partition
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Demand:
    """Up to `most` records, as soon as there are `least`."""

    most: int
    least: int = 1
    partitions: frozenset[TopicPartition] | None = None
    """The partitions whose records are wanted; None stands for all."""

    def wants(self, message: Message) -> bool:
        """Does the coroutine want it? Also errors that concern no partition, because they would stay in line for ever."""
        return self.partitions is None or place_of(message) in self.partitions or concerns_no_partition(message)


def wanted_by(demands: Iterable[Demand]) -> frozenset[TopicPartition] | None:
    """All partitions of which a coroutine wants records; None stands for all there are."""
    found: frozenset[TopicPartition] = frozenset()
    for demand in demands:
        if demand.partitions is None:
            return None
        found |= demand.partitions
    return found
