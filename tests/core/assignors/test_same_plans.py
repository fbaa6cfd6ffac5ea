"""Plans stay as they are from version to version, down to single partitions: members of two versions share groups."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from random import Random

import pytest

from membership_client.core.assignors.registry import BUILT_IN
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from tests.core.assignors.groups import Group, random_group

CHECKSUMS = {"range": 336488085, "roundrobin": 691679632, "sticky": 3835219479, "cooperative-sticky": 644181228}
"""Of the plans for these groups. A change that is meant needs a line in the changelog, and then new numbers here."""


@cache
def some_groups() -> list[Group]:
    """With racks and without, with claims and without, with equal subscriptions and with different ones."""
    return [
        random_group(Random(seed), racks=bool(seed % 2), held=bool(seed % 3), equal=(None, True, False)[seed % 5 % 3])
        for seed in range(600)
    ]


@cache
def groups_with_a_past() -> list[Group]:
    """Members that were away claim what others were given meanwhile."""
    return [_group_with_a_past(Random(seed)) for seed in range(1200)]


def _group_with_a_past(random: Random) -> Group:
    topics = {topic: TopicLayout(random.randint(1, 6)) for topic in "abcd"[: random.randint(2, 4)]}
    every = [TopicPartition(topic, n) for topic, layout in topics.items() for n in range(layout.partitions)]
    members = [_member_with_a_past(random, name, list(topics), every) for name in "mnopq"[: random.randint(2, 5)]]
    return Group(tuple(members), topics)


def _member_with_a_past(
    random: Random, name: str, topics: Sequence[str], every: Sequence[TopicPartition]
) -> MemberSubscription:
    wants = frozenset(random.sample(topics, random.randint(1, len(topics))))
    held = random.sample(every, random.randint(0, min(len(every), 7))) if random.random() < 0.8 else []
    return MemberSubscription(member_id=name, topics=wants, owned=frozenset(held), generation=random.randint(1, 3))


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_leader_of_the_next_version_makes_the_same_plans(name: str) -> None:
    """During an upgrade leaders of both versions take turns: each difference would move partitions back and forth."""
    checksum = 0
    for group in [*some_groups(), *groups_with_a_past()]:
        plan = group.plan(BUILT_IN[name])
        text = repr([(member_id, sorted(plan[member_id])) for member_id in sorted(plan)])
        checksum = zlib.crc32(text.encode(), checksum)
    assert checksum == CHECKSUMS[name]
