"""The `range` assignor: the partitions of each topic in equal, neighbouring pieces, topic by topic.

Topics with as many partitions and the same subscribers are cut in the same way, so that a member with partition 3 of one
has partition 3 of the other. The first members get the extra partitions, of every topic. What members hold plays no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.core.assignors.members import Plan, in_order, partitions_of, subscribers
from membership_client.core.assignors.range_racks import cut_by_racks, racks_matter
from membership_client.subscriptions import MemberSubscription, TopicLayout


def assign_range(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """The plan of Java's RangeAssignor, also where racks are known: see `range_racks`."""
    members = in_order(subscriptions)
    shares: Plan = {member.member_id: [] for member in members}
    takers = list(shares.values())
    wanted = dict(sorted(subscribers(members, topics).items()))
    racks = [member.rack or None for member in members]
    if racks_matter(wanted, topics, racks):
        for topic, pieces in cut_by_racks(wanted, topics, racks).items():
            partitions = partitions_of(topic, topics[topic])
            for place, numbers in pieces.items():
                takers[place] += [partitions[number] for number in sorted(numbers)]
        return shares
    for topic, wanting in wanted.items():
        partitions = partitions_of(topic, topics[topic])
        quota, extra = divmod(len(partitions), len(wanting))
        start = 0
        # With a quota of nothing, those after the extra ones go empty-handed.
        for at, place in enumerate(wanting if quota else wanting[:extra]):
            end = start + quota + (at < extra)
            takers[place] += partitions[start:end]
            start = end
    return shares
