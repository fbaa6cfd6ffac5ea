"""The two assignors that look at names and numbers only."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from membership_client.core.assignors.registry import BUILT_IN
from membership_client.subscriptions import MemberSubscription, TopicLayout
from tests.core.assignors.groups import Group, groups, loads, patient

RANGE, ROUND_ROBIN = BUILT_IN["range"], BUILT_IN["roundrobin"]


@patient
@given(groups(racks=True))
def test_ranges_are_even_topic_by_topic(group: Group) -> None:
    """The shares of one topic differ by one partition at most, also where racks have a say."""
    plan = group.plan(RANGE)
    for topic in group.topics:
        wanting = [member for member in group.members if topic in member.topics]
        counts = [sum(topic == p.topic for p in plan[member.member_id]) for member in wanting]
        assert max(counts, default=0) - min(counts, default=0) <= 1


@patient
@given(groups())
def test_ranges_are_neighbours_in_the_order_of_members(group: Group) -> None:
    """The first member has the first partitions, and no share has a gap."""
    plan = group.plan(RANGE)
    for topic in group.topics:
        ranges = [[p.partition for p in sorted(plan[m.member_id]) if p.topic == topic] for m in _in_order(group)]
        numbers = [number for piece in ranges for number in piece]
        assert numbers == list(range(len(numbers)))


@patient
@given(groups(racks=True, equal=True))
def test_ranges_of_like_topics_are_cut_alike(group: Group) -> None:
    """The member with partition 3 of one has partition 3 of the other, for joins; racks come second."""
    plan = group.plan(RANGE)
    alike = [(a, b) for a, b in pairwise(sorted(group.topics)) if group.count(a) == group.count(b)]
    wanted = group.members[0].topics
    for first, second in [pair for pair in alike if wanted.issuperset(pair)]:
        for share in plan.values():
            assert {n for t, n in share if t == first} == {n for t, n in share if t == second}


def test_ranges_follow_racks() -> None:
    """Each partition goes to the member in its rack, although the order of members says otherwise."""
    members = [MemberSubscription(member_id=f"m{n}", topics=frozenset("a"), rack=f"r{2 - n}") for n in range(3)]
    layout = TopicLayout(3, tuple(frozenset({f"r{n}"}) for n in range(3)))
    plan = RANGE.assign(members, {"a": layout})
    assert {m: [p.partition for p in share] for m, share in plan.items()} == {"m0": [2], "m1": [1], "m2": [0]}


@patient
@given(groups(equal=True))
def test_turns_are_even(group: Group) -> None:
    """Where all want the same, shares differ by one partition at most, over all topics."""
    counts = loads(group.plan(ROUND_ROBIN))
    assert counts[-1] - counts[0] <= 1


def _in_order(group: Group) -> list[MemberSubscription]:
    static = sorted((m for m in group.members if m.instance_id), key=lambda m: str(m.instance_id))
    return static + sorted((m for m in group.members if not m.instance_id), key=lambda m: m.member_id)
