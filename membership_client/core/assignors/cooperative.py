"""The `cooperative-sticky` assignor: sticky, but nothing goes to a new owner before the old one has given it back.

Members keep what they hold while they join. What is to move is left out of the plan, so its owner gives it up and joins
again; the next plan, in which no member claims it, hands it out. Two rounds are enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.core.assignors.claims import FormerOwners, settle
from membership_client.core.assignors.members import Plan, in_order
from membership_client.core.assignors.sticky import share_out
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition


def assign_cooperative(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """As `assign_sticky`, without the partitions that another member still holds."""
    members = in_order(subscriptions)
    claims = settle(members)
    shares = share_out(members, topics, claims)
    if claims.owner or claims.disputed:
        shares = [_granted(place, share, claims) for place, share in enumerate(shares)]
    return {member.member_id: share for member, share in zip(members, shares, strict=True)}


def _granted(place: int, share: list[TopicPartition], claims: FormerOwners) -> list[TopicPartition]:
    """What is its own, or has no owner. Where two claim the same, both must give it back first."""
    if share == claims.held[place]:
        return share
    owner_of, disputed = claims.owner.get, claims.disputed
    return [p for p in share if owner_of(p, place) == place and p not in disputed]
