"""Our assignors beside Kafka's own, fed with the same bytes: the same plans, or as good ones where Java leaves a choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from membership_client.core.assignors.registry import BUILT_IN
from membership_client.types import TopicPartition
from tests.core.assignors.changes import changed
from tests.core.assignors.groups import Group, groups, loads, random_group
from tests.core.assignors.java_assignors import JavaAssignors
from tests.peers.jvm import PeerJvm

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

few = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAssignors]:
    with PeerJvm() as jvm:
        yield JavaAssignors(jvm)


@pytest.mark.parametrize("name", ["range", "roundrobin"])
@few
@given(group=groups(racks=True))
def test_the_same_plan_for_static_members_and_racks(java: JavaAssignors, name: str, group: Group) -> None:
    """Instance ids come before member ids, and ranges follow racks, exactly as in Java."""
    assert group.plan(BUILT_IN[name]) == java.assign(name, group.members, group.topics)


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
@few
@given(group=groups(racks=True, static=False))
def test_the_same_first_plan_of_sticky_assignors(java: JavaAssignors, name: str, group: Group) -> None:
    """Nobody holds anything yet, so there is nothing to choose."""
    assert group.plan(BUILT_IN[name]) == java.assign(name, group.members, group.topics)


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("racks", [False, True], ids=["anywhere", "racks"])
@few
@given(seed=seeds)
def test_the_same_next_plan_of_sticky_assignors(java: JavaAssignors, name: str, racks: bool, seed: int) -> None:
    """After a leave, a join, another subscription or more partitions; in the same state, with the same members."""
    random = Random(seed)
    group = random_group(random, static=False, racks=racks, at_least=2)
    held = changed(random, group.holding(java.assign("sticky", group.members, group.topics), 1))
    if _leaves_a_choice(held):
        ours, theirs = held.plan(BUILT_IN["sticky"]), java.assign("sticky", held.members, held.topics)
        assert loads(ours) == loads(theirs)
        assert _kept(held, ours) == _kept(held, theirs)
    else:
        assert held.plan(BUILT_IN[name]) == java.assign(name, held.members, held.topics)


def _leaves_a_choice(group: Group) -> bool:
    """More members could keep an extra partition than there are: Java takes them as its hash map has them."""
    if len({member.topics for member in group.members}) > 1:
        return False
    total = len(group.subscribed())
    low, extra = divmod(total, len(group.members))
    return sum(len(member.owned) > low for member in group.members) > extra


def _kept(group: Group, plan: Mapping[str, frozenset[TopicPartition]]) -> int:
    return sum(len(plan[member.member_id] & member.owned) for member in group.members)
