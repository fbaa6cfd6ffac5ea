"""How far a group is behind: committed offsets against the ends of the partitions."""

from __future__ import annotations

from collections.abc import Mapping

import confluent_kafka
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from membership_client.types import Offset, TopicPartition

_TIMEOUT_S = 10.0
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]


def lag_of(bootstrap_servers: str, committed: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, int]:
    """Of partitions whose end is told in time; the others are left out, for a view without them is better than none."""
    if not committed:
        return {}
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    wanted = {confluent_kafka.TopicPartition(*partition): _LATEST for partition in committed}
    ends: dict[TopicPartition, int] = {}
    for place, future in client.list_offsets(wanted, request_timeout=_TIMEOUT_S).items():
        try:
            ends[TopicPartition(place.topic, place.partition)] = future.result().offset
        except KafkaException:
            continue
    return {partition: max(0, end - committed[partition].offset) for partition, end in ends.items()}
