"""The assignors `sticky` and `cooperative-sticky`: as even as subscriptions allow, and as much as possible stays where it was.

What members held is in their subscriptions. `sticky` is eager: everything was given back before the join, so partitions may go
to new owners at once. In a cooperative group members keep what they hold while they join. The plan leaves out the partitions
that are to move, so their owners give them up and join again; the next plan, in which no member claims them, assigns them.
Two rounds are enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.core.assignors.members import FormerOwners, Plan, in_order, settle
from membership_client.core.assignors.sticky_equal import share_equally
from membership_client.core.assignors.sticky_general import share_generally
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition


def assign_sticky(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """Keeps the promises of Java's StickyAssignor, racks included; the same plan where the promises leave one choice.

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
    subscribed = {member.topics for member in members}
    wanted = frozenset().union(*subscribed)
    existing = {topic: topics[topic] for topic in sorted(wanted & topics.keys()) if topics[topic].partitions}
    if not existing:
        return [[] for _ in members]
    share = share_equally if len(subscribed) == 1 else share_generally
    return share(members, existing, claims)


def assign_cooperative(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """As `assign_sticky`, without the partitions that another member still holds."""
    members = in_order(subscriptions)
    claims = settle(members)
    shares = share_out(members, topics, claims)
    if claims.owner or claims.disputed:
        shares = [_granted(place, share, claims) for place, share in enumerate(shares)]
    return {member.member_id: share for member, share in zip(members, shares, strict=True)}


def _granted(place: int, share: list[TopicPartition], claims: FormerOwners) -> list[TopicPartition]:
    """The part of its share that it holds already or that has no owner. A disputed partition is given back by both first."""
    if share == claims.held[place]:
        return share
    owner_of, disputed = claims.owner.get, claims.disputed
    return [p for p in share if owner_of(p, place) == place and p not in disputed]
