"""Who held what before: members' own words, and whom to believe when two say they hold the same partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.subscriptions import MemberSubscription
from membership_client.types import TopicPartition
from membership_client.values import dataclass


@dataclass(frozen=True, slots=True)
class Claims:
    """Members are named by their place. Some of the partitions may not exist any more."""

    owner: Mapping[TopicPartition, int]
    """Who alone claims it in the latest generation in which anybody does."""
    disputed: frozenset[TopicPartition] = frozenset()
    """Claimed by two in that generation: nobody is believed."""


def settle(members: Sequence[MemberSubscription]) -> Claims:
    """Believe the latest generation: whoever speaks of an earlier one has missed that it lost the partition."""
    owner: dict[TopicPartition, int] = {}
    contested: dict[TopicPartition, list[int]] = {}
    for place, member in enumerate(members):
        # In order, because the order of a set differs from process to process, and a trace must replay in any.
        for partition in sorted(member.owned):
            first = owner.setdefault(partition, place)
            if first != place:
                contested.setdefault(partition, [first]).append(place)
    disputed = set()
    for partition, places in contested.items():
        *_, second, latest = sorted(places, key=lambda place: members[place].generation)
        owner[partition] = latest
        if members[second].generation == members[latest].generation:
            disputed.add(partition)
            del owner[partition]
    return Claims(owner, frozenset(disputed))


def earlier_owners(members: Sequence[MemberSubscription]) -> dict[TopicPartition, int]:
    """Who held a partition before the group's latest generation, going by the latest such claim."""
    newest = max(member.generation for member in members)
    late = [place for place, member in enumerate(members) if member.generation < newest]
    late.sort(key=lambda place: members[place].generation)
    return {partition: place for place in late for partition in members[place].owned}
