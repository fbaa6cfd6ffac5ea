"""Committed offsets, and those of open transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from membership_client.types import TopicPartition


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str


class Offsets:
    """The offsets of all groups. Not thread-safe."""

    def __init__(self) -> None:
        self._committed: dict[str, dict[TopicPartition, Committed]] = {}
        self._pending: defaultdict[str, dict[int, dict[TopicPartition, Committed]]] = defaultdict(dict)
        """Offsets of open transactions, by producer id."""

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._committed

    def groups(self) -> tuple[str, ...]:
        return tuple(self._committed)

    def of(self, group_id: str) -> Mapping[TopicPartition, Committed]:
        return self._committed.get(group_id, {})

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        self._committed.setdefault(group_id, {}).update(offsets)

    def is_unstable(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction has an offset for the partition."""
        return any(partition in offsets for offsets in self._pending.get(group_id, {}).values())

    def commit_later(self, group_id: str, producer_id: int, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit the offsets when the transaction of that producer is committed."""
        self._pending[group_id].setdefault(producer_id, {}).update(offsets)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        for group_id, of_producers in self._pending.items():
            offsets = of_producers.pop(producer_id, None)
            if committed and offsets:
                self.commit(group_id, offsets)

    def forget(self, group_id: str, partition: TopicPartition) -> None:
        self._committed.get(group_id, {}).pop(partition, None)

    def forget_group(self, group_id: str) -> None:
        self._committed.pop(group_id, None)
        self._pending.pop(group_id, None)

    def forget_topic(self, topic: str) -> None:
        for offsets in self._committed.values():
            for partition in [each for each in offsets if each.topic == topic]:
                del offsets[partition]
