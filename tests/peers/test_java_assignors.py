"""Our assignors beside Kafka's own, fed with the same bytes: the same plans, or as good ones where Java leaves a choice."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from membership_client.core.assignors.registry import BUILT_IN
from tests.core.assignors.changes import changed
from tests.core.assignors.groups import Group, Shares, groups, loads, random_group, unnamed
from tests.peers.java_assignors import JavaAssignors, leaves_a_choice
from tests.peers.jvm import PeerJvm

pytestmark = pytest.mark.kafka

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
@example(group=random_group(Random(1641), static=False, racks=True))
@given(group=groups(racks=True, static=False))
def test_the_same_first_plan_of_sticky_assignors(java: JavaAssignors, name: str, group: Group) -> None:
    """Also where a partition goes back instead of another, of which Java took one by chance: the test did not know that."""
    _assert_agreed(java, name, group)


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("racks", [False, True], ids=["anywhere", "racks"])
@few
@given(seed=seeds)
def test_the_same_next_plan_of_sticky_assignors(java: JavaAssignors, name: str, racks: bool, seed: int) -> None:
    """After a leave, a join, another subscription or more partitions; in the same state, with the same members."""
    random = Random(seed)
    group = random_group(random, static=False, racks=racks, at_least=2)
    _assert_agreed(java, name, changed(random, group.holding(java.assign("sticky", group.members, group.topics), 1)))


def _assert_agreed(java: JavaAssignors, name: str, group: Group) -> None:
    """On the plan; or on how good it is, where Java's own is a matter of chance."""
    if group.plan(BUILT_IN[name]) == java.assign(name, group.members, group.topics):
        return
    ours, theirs = group.plan(BUILT_IN["sticky"]), _by_chance(java, group)
    assert leaves_a_choice(group) or any(plan != theirs[0] for plan in theirs), f"ours is {ours}, Java's {theirs[0]}"
    assert loads(ours) in map(loads, theirs)
    assert _kept(group, ours) >= min(_kept(group, plan) for plan in theirs)


def _by_chance(java: JavaAssignors, group: Group) -> list[Shares]:
    """What Java plans, and what it would if topics had other names, so that its hash maps are in another order."""
    prefixes = ("", "x", "ab", "wor", "long")
    others = [(prefix, group.renamed(prefix)) for prefix in prefixes]
    return [unnamed(java.assign("sticky", other.members, other.topics), prefix) for prefix, other in others]


def _kept(group: Group, plan: Shares) -> int:
    return sum(len(plan[member.member_id] & member.owned) for member in group.members)
