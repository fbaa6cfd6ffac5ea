"""The fetcher of an application that uses GroupMember: confluent-kafka's Consumer without a group, assigned by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import confluent_kafka
from confluent_kafka import Message

from membership_client import Offset, TopicPartition
from tests.benchmarks.soak_fleet import COMMON, SOCKETS
from tests.benchmarks.soak_member import BATCH

_FETCHING = (*SOCKETS, "log_level", "auto.offset.reset", "auto.commit.interval.ms", "enable.auto.commit")


def member_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a consumer's configuration is about membership."""
    return {key: value for key, value in config.items() if key not in _FETCHING}


@dataclass(slots=True, eq=False)
class Reading:
    """One stay of a partition with us."""

    next_offset: int


class OwnFetcher:
    """`fetch` may run on one thread while another calls the rest; the caller keeps `keep`, `start` and `stop` apart."""

    def __init__(self, servers: str, topic: str) -> None:
        own = {"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False}
        fetching = {key: COMMON[key] for key in ("log_level", "auto.offset.reset")}
        self._raw = confluent_kafka.Consumer({**own, **SOCKETS, **fetching})
        self._topic = topic
        self._readings: dict[int, Reading] = {}

    def start(self, committed: Mapping[TopicPartition, Offset | None]) -> None:
        starts = {place.partition: offset.offset if offset else 0 for place, offset in committed.items()}
        self._readings |= {number: Reading(offset) for number, offset in starts.items()}
        self._raw.incremental_assign([self._place(number, offset) for number, offset in starts.items()])

    def stop(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The next offset of each of them."""
        numbers = [place.partition for place in partitions]
        ended = {number: self._readings.pop(number) for number in numbers}
        self._raw.incremental_unassign([self._place(number) for number in numbers])
        return {TopicPartition(self._topic, number): reading.next_offset for number, reading in ended.items()}

    def readings(self) -> dict[int, Reading]:
        """Those of this moment: to be asked for before `fetch` and given to `keep`."""
        return dict(self._readings)

    def fetch(self, timeout_s: float) -> list[Message]:
        return self._raw.consume(BATCH, timeout_s)

    def keep(
        self, batch: list[Message], before: Mapping[int, Reading], owns: Callable[[TopicPartition], bool]
    ) -> list[Message]:
        """What is owned, of partitions that were not started since `before`; the next offsets are behind it then.

        The others are started again where they were. Records of a partition that was started since cannot be told from
        older ones; and while the assigned callback, which starts them, has not returned, they are not owned yet.
        """
        brought = {message.partition() for message in batch}
        numbers = {number for number in self._readings if number in brought}
        kept = {number for number in numbers if self._readings[number] is before.get(number)}
        kept = {number for number in kept if owns(TopicPartition(self._topic, number))}
        for number in numbers - kept:
            self._raw.incremental_unassign([self._place(number)])
            self._raw.incremental_assign([self._place(number, self._readings[number].next_offset)])
        return [message for message in batch if message.partition() in kept and self._is_next(message)]

    def _is_next(self, message: Message) -> bool:
        number, offset = message.partition(), message.offset()
        assert number is not None
        assert offset is not None
        if message.error() is not None or offset < self._readings[number].next_offset:
            return False
        self._readings[number].next_offset = offset + 1
        return True

    def offsets(self) -> dict[TopicPartition, int]:
        """The next offset of each partition."""
        return {TopicPartition(self._topic, number): one.next_offset for number, one in self._readings.items()}

    def close(self) -> None:
        self._raw.close()

    def _place(self, number: int, offset: int = confluent_kafka.OFFSET_INVALID) -> confluent_kafka.TopicPartition:
        return confluent_kafka.TopicPartition(self._topic, number, offset)
