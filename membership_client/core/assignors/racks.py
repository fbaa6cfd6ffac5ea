"""Racks: when they are worth looking at, and whom they bring together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from membership_client.values import dataclass

_NOWHERE: frozenset[str] = frozenset()


def worth_matching(member_racks: Collection[str], partition_racks: Collection[frozenset[str]]) -> bool:
    """Could a choice of members by rack change anything?

    Not if no member is in a rack that has replicas, nor if every partition has a replica in each of those racks.
    """
    everywhere = _NOWHERE.union(*partition_racks)
    return not everywhere.isdisjoint(member_racks) and any(racks != everywhere for racks in partition_racks)


def near(rack: str | None, racks: Collection[str]) -> bool:
    """Is a member in that rack as good as any for a partition in these? One that tells no rack always is."""
    return not rack or rack in racks


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The racks of a group whose racks are worth matching."""

    of_member: Sequence[str | None]
    """By place."""
    topics: Mapping[str, TopicLayout]

    @classmethod
    def of(cls, members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Neighbourhood | None:
        """None where racks make no difference: no member told any, or all partitions are everywhere."""
        racks = [member.rack or None for member in members]
        told = {rack for rack in racks if rack}
        if not told:
            return None
        replicas = [
            layout.racks[number] if layout.racks else _NOWHERE
            for layout in topics.values()
            for number in range(layout.partitions)
        ]
        return cls(racks, topics) if worth_matching(told, replicas) else None

    def of_partition(self, partition: TopicPartition) -> frozenset[str]:
        racks = self.topics[partition.topic].racks
        return racks[partition.partition] if racks else _NOWHERE

    def near(self, place: int, partition: TopicPartition) -> bool:
        return near(self.of_member[place], self.of_partition(partition))
