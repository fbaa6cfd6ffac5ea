"""Sticky shares where all members want the same topics: quotas are known beforehand, so one pass is enough.

Everybody gets the low quota, and as many as there are partitions left over get one more. Who holds more than its quota
gives up the rest; what is free then goes round among those who have too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from membership_client.core.assignors.claims import Claims
from membership_client.core.assignors.members import partitions_of
from membership_client.core.assignors.near_filling import fill_near
from membership_client.core.assignors.quotas import Quotas
from membership_client.core.assignors.racks import Neighbourhood
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition

_by_number = itemgetter(1, 0)


def share_equally(
    members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout], claims: Claims
) -> list[list[TopicPartition]]:
    """Shares by place. They differ by one partition at most, and of what was held nothing moves that need not."""
    held: list[list[TopicPartition]] = [[] for _ in members]
    racks = Neighbourhood.of(members, topics)
    free = _hand_back(held, topics, claims, racks)
    total = sum(layout.partitions for layout in topics.values())
    quotas = Quotas(held, *divmod(total, len(members)))
    if given_up := list(_trim(quotas)):
        # What is free goes round by topic and number.
        free = sorted(free + given_up)
    if racks is not None:
        free = fill_near(quotas, free, racks)
    quotas.fill(free)
    return held


def _hand_back(
    held: Sequence[list[TopicPartition]],
    topics: Mapping[str, TopicLayout],
    claims: Claims,
    racks: Neighbourhood | None,
) -> list[TopicPartition]:
    """Give everybody what it held, except what it is far from or what is gone; what is nobody's is returned, in order."""
    counts = {topic: layout.partitions for topic, layout in topics.items()}
    taken: dict[str, set[int]] = {topic: set() for topic in topics}
    for partition, place in claims.owner.items():
        topic, number = partition
        if 0 <= number < counts.get(topic, 0) and (racks is None or racks.near(place, partition)):
            held[place].append(partition)
            taken[topic].add(number)
    incomplete = [topic for topic in sorted(topics) if len(taken[topic]) < counts[topic]]
    return [p for topic in incomplete for p in partitions_of(topic, topics[topic]) if p.partition not in taken[topic]]


def _trim(quotas: Quotas) -> Iterable[TopicPartition]:
    """Cut everybody down to what it may keep. Low numbers are kept, over all topics alike."""
    for place, share in enumerate(quotas.shares):
        keep = quotas.admit(place)
        if len(share) > keep:
            share.sort(key=_by_number)
            yield from share[keep:]
            del share[keep:]
