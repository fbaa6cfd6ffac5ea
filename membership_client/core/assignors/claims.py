"""Who held what before: members' own words, and whom to believe when two say they hold the same partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

from membership_client.subscriptions import MemberSubscription
from membership_client.types import TopicPartition
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class FormerOwners:
    """Members are named by their place. Some of the partitions may not exist any more."""

    owner: Mapping[TopicPartition, int]
    """Who alone claims it in the latest generation in which anybody does."""
    held: Sequence[Sequence[TopicPartition]]
    """The same by place, each in order."""
    disputed: frozenset[TopicPartition] = frozenset()
    """Claimed by two in that generation: neither is believed."""


def settle(members: Sequence[MemberSubscription]) -> FormerOwners:
    """Believe the latest generation: a member that speaks of an earlier one has missed that it lost the partition."""
    # In order, because the order of a set differs from process to process, and a trace must replay in any.
    held = [sorted(member.owned) for member in members]
    owner: dict[TopicPartition, int] = {}
    for place, claimed in enumerate(held):
        owner.update(zip(claimed, repeat(place), strict=False))
    if len(owner) == sum(map(len, held)):
        return FormerOwners(owner, held)
    return _settle_disputes(members, held)


def _settle_disputes(
    members: Sequence[MemberSubscription], claimed: Sequence[Sequence[TopicPartition]]
) -> FormerOwners:
    claimants: dict[TopicPartition, list[int]] = {}
    for place, partitions in enumerate(claimed):
        for partition in partitions:
            claimants.setdefault(partition, []).append(place)
    owner: dict[TopicPartition, int] = {}
    disputed = set()
    for partition, places in claimants.items():
        *earlier, latest = sorted(places, key=lambda place: members[place].generation)
        if earlier and members[earlier[-1]].generation == members[latest].generation:
            disputed.add(partition)
        else:
            owner[partition] = latest
    held = [[p for p in partitions if owner.get(p) == place] for place, partitions in enumerate(claimed)]
    return FormerOwners(owner, held, frozenset(disputed))


def earlier_owners(members: Sequence[MemberSubscription]) -> dict[TopicPartition, int]:
    """Who held a partition before the group's latest generation, going by the latest such claim."""
    newest = max(member.generation for member in members)
    late = [place for place, member in enumerate(members) if member.generation < newest]
    late.sort(key=lambda place: members[place].generation)
    return {partition: place for place in late for partition in members[place].owned}
