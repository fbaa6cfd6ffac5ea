"""Strategies by name, for the leader of a classic group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from membership_client.subscriptions import AssignFunction, Assignment, MemberSubscription, TopicLayout
from membership_client.types import TopicPartition

_COOPERATIVE = frozenset({"cooperative-sticky"})


def is_cooperative(strategy: str) -> bool:
    return strategy in _COOPERATIVE


def assignor(strategy: str) -> AssignFunction | None:
    """None if we have no such strategy."""
    return ASSIGNORS.get(strategy)


def _in_turn(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    ordered = sorted(members, key=lambda member: member.rank)
    shares: dict[str, list[TopicPartition]] = {member.member_id: [] for member in ordered}
    for topic, layout in sorted(topics.items()):
        takers = [member.member_id for member in ordered if topic in member.topics]
        for number in range(layout.partitions if takers else 0):
            shares[takers[number % len(takers)]].append(TopicPartition(topic, number))
    return shares


ASSIGNORS: Mapping[str, AssignFunction] = {"range": _in_turn, "roundrobin": _in_turn}
