"""Sticky shares where all members want the same topics: quotas are known beforehand, so one pass is enough.

Everybody gets the low quota, and as many as there are partitions left over get one more. Who holds more than its quota
gives up the rest; what is free then goes round among members that have too little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from membership_client.core.assignors.claims import FormerOwners
from membership_client.core.assignors.members import partitions_of
from membership_client.core.assignors.near_filling import fill_near
from membership_client.core.assignors.quotas import Quotas
from membership_client.core.assignors.racks import Neighbourhood
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition

_by_number = itemgetter(1, 0)
_topic = itemgetter(0)


def share_equally(
    members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout], claims: FormerOwners
) -> list[list[TopicPartition]]:
    """Shares by place. They differ by one partition at most, and of what was held nothing moves that need not."""
    racks = Neighbourhood.of(members, topics)
    held = _kept(topics, claims, racks)
    free = _free(topics, held)
    total = sum(layout.partitions for layout in topics.values())
    quotas = Quotas(held, *divmod(total, len(members)))
    if given_up := list(_trim(quotas)):
        # What is free goes round by topic and number.
        free = sorted(free + given_up)
    if racks is not None:
        free = fill_near(quotas, free, racks)
    quotas.fill(free)
    return held


def _kept(
    topics: Mapping[str, TopicLayout], claims: FormerOwners, racks: Neighbourhood | None
) -> list[list[TopicPartition]]:
    """What everybody held, by place, without what it is far from and what is gone."""
    count_of = {topic: layout.partitions for topic, layout in topics.items()}.get
    kept = [[p for p in share if 0 <= p[1] < count_of(p[0], 0)] for share in claims.held]
    if racks is None:
        return kept
    return [[p for p in share if racks.near(place, p)] for place, share in enumerate(kept)]


def _free(topics: Mapping[str, TopicLayout], held: Sequence[Sequence[TopicPartition]]) -> list[TopicPartition]:
    """Partitions without an owner, in order."""
    taken = Counter(map(_topic, chain.from_iterable(held)))
    incomplete = {topic for topic, layout in topics.items() if taken[topic] < layout.partitions}
    known = {p for share in held for p in share if p[0] in incomplete} if taken else frozenset()
    return [p for topic in sorted(incomplete) for p in partitions_of(topic, topics[topic]) if p not in known]


def _trim(quotas: Quotas) -> Iterable[TopicPartition]:
    """Cut everybody down to what it may keep. Low numbers are kept, over all topics alike."""
    for place, share in enumerate(quotas.shares):
        keep = quotas.admit(place)
        if len(share) > keep:
            share.sort(key=_by_number)
            yield from share[keep:]
            del share[keep:]
