"""Sticky shares where members want different topics: keep what is held, hand out what is free, then even out.

No partition could move to a member that wants its topic and has two fewer than its owner: as even as moves of single
partitions make it, which is what Java promises too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from membership_client.core.assignors.claims import FormerOwners, earlier_owners
from membership_client.core.assignors.evening import Evening
from membership_client.core.assignors.ladder import Ladder
from membership_client.core.assignors.members import partitions_of, subscribers
from membership_client.core.assignors.racks import Neighbourhood
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition

_Owners = dict[TopicPartition, int]


def share_generally(
    members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout], claims: FormerOwners
) -> list[list[TopicPartition]]:
    """Shares by place. Topics that few want come first, since they have the least choice."""
    wanted = subscribers(members, topics)
    order = sorted(wanted, key=lambda topic: (len(wanted[topic]), topic))
    every = [partition for topic in order for partition in partitions_of(topic, topics[topic])]
    racks = Neighbourhood.of(members, topics)
    owners = _kept(every, members, claims, racks)
    free = [partition for partition in every if partition not in owners]
    ladder = Ladder([member.topics for member in members], _loads(owners, len(members)))
    _hand_out(free, owners, ladder, racks)
    if not ladder.is_even:
        evening = Evening(owners, ladder, earlier_owners(members))
        # Partitions that no member held move first, since that costs nothing; if something is revoked anyway, all may move.
        if claims.owner.keys().isdisjoint(free):
            evening.even_out(free)
        evening.even_out(every)
    return _shares(every, owners, len(members))


def _kept(
    every: Iterable[TopicPartition],
    members: Sequence[MemberSubscription],
    claims: FormerOwners,
    racks: Neighbourhood | None,
) -> _Owners:
    """What stays where it was: its owner still wants the topic, and is not far from it."""
    kept: _Owners = {}
    for partition in every:
        place = claims.owner.get(partition)
        if place is None or partition.topic not in members[place].topics:
            continue
        if racks is None or racks.near(place, partition):
            kept[partition] = place
    return kept


def _loads(owners: _Owners, members: int) -> list[int]:
    loads = [0] * members
    for place in owners.values():
        loads[place] += 1
    return loads


def _hand_out(free: Iterable[TopicPartition], owners: _Owners, ladder: Ladder, racks: Neighbourhood | None) -> None:
    """Each to the least loaded member that wants it, near ones first."""
    if racks is not None:
        for partition in free:
            candidates = ladder.upwards(partition.topic)
            place = next((place for place in candidates if racks.near(place, partition)), None)
            if place is not None:
                owners[partition] = place
                ladder.shift(place, +1)
    for partition in free:
        if partition not in owners:
            owners[partition] = place = ladder.least(partition.topic)
            ladder.shift(place, +1)


def _shares(every: Iterable[TopicPartition], owners: _Owners, members: int) -> list[list[TopicPartition]]:
    shares: list[list[TopicPartition]] = [[] for _ in range(members)]
    for partition in every:
        shares[owners[partition]].append(partition)
    return shares
