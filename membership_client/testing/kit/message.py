"""A record with the methods of confluent-kafka's `Message`."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.testing.kit.history import Record
from membership_client.testing.kit.threads import EPOCH

_CREATE_TIME = 1


@dataclass(frozen=True, slots=True)
class VirtualMessage:
    """The methods of `confluent_kafka.Message` that have a meaning without a broker."""

    record: Record

    def topic(self) -> str:
        return self.record.partition.topic

    def partition(self) -> int:
        return self.record.partition.partition

    def offset(self) -> int:
        return self.record.offset

    def key(self) -> bytes:
        return self.record.key

    def value(self) -> bytes:
        return self.record.value

    def headers(self) -> None:
        return None

    def error(self) -> None:
        return None

    def leader_epoch(self) -> int:
        return 0

    def timestamp(self) -> tuple[int, int]:
        return _CREATE_TIME, int((EPOCH + self.record.at) * 1000)

    def __len__(self) -> int:
        return len(self.record.value)
