"""The `roundrobin` assignor: all partitions in order of topic and number, dealt out to the members in turn.

With equal subscriptions the shares differ by one partition at most. Neither racks nor what members hold play a part.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import cycle, islice

from membership_client.core.assignors.members import Plan, in_order, partitions_of, subscribers
from membership_client.subscriptions import MemberSubscription, TopicLayout


def assign_round_robin(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """The plan of Java's RoundRobinAssignor."""
    members = in_order(subscriptions)
    shares: Plan = {member.member_id: [] for member in members}
    takers = list(shares.values())
    turn = 0
    for topic, wanting in sorted(subscribers(members, topics).items()):
        # Whose turn it is goes on from topic to topic; who does not want this one is passed over.
        first = bisect_left(wanting, turn) % len(wanting)
        turns = islice(cycle(wanting), first, None)
        for turn, partition in zip(turns, partitions_of(topic, topics[topic]), strict=False):
            takers[turn].append(partition)
        turn += 1
    return shares
