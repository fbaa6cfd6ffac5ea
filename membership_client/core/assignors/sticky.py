"""The `sticky` assignor: as even as subscriptions allow, and of what members held before as much as possible stays.

What they held is in their subscriptions. It is an eager assignor: everything was given back before the join, so
partitions may go to new owners at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.core.assignors.claims import FormerOwners, settle
from membership_client.core.assignors.members import Plan, in_order
from membership_client.core.assignors.sticky_equal import share_equally
from membership_client.core.assignors.sticky_general import share_generally
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition


def assign_sticky(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """The promises of Java's StickyAssignor, racks included; the same plan where those leave one choice.

    Except that members take their turns in our order, static ones first, where Java goes by member id: a restart of
    static members then changes nothing even if they forgot what they held.
    """
    members = in_order(subscriptions)
    shares = share_out(members, topics, settle(members))
    return {member.member_id: share for member, share in zip(members, shares, strict=True)}


def share_out(
    members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout], claims: FormerOwners
) -> list[list[TopicPartition]]:
    """Shares by place."""
    circles = {member.topics for member in members}
    wanted = frozenset().union(*circles)
    existing = {topic: topics[topic] for topic in sorted(wanted & topics.keys()) if topics[topic].partitions}
    if not existing:
        return [[] for _ in members]
    share = share_equally if len(circles) == 1 else share_generally
    return share(members, existing, claims)
