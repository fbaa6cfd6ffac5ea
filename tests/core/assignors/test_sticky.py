"""The sticky assignors: even, and what can stay stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from membership_client.core.assignors.registry import BUILT_IN, Assignor
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from tests.core.assignors.groups import Group, groups, loads, patient

STICKY, COOPERATIVE = BUILT_IN["sticky"], BUILT_IN["cooperative-sticky"]
BOTH = pytest.mark.parametrize("assignor", [STICKY, COOPERATIVE], ids=lambda assignor: assignor.name)


@patient
@given(groups(racks=True, held=True, equal=True))
def test_equal_subscriptions_get_equal_shares(group: Group) -> None:
    """They differ by one partition at most, whatever members claim and wherever they are."""
    counts = loads(group.plan(STICKY))
    assert counts[-1] - counts[0] <= 1


@patient
@given(groups(racks=True, held=True))
def test_no_move_would_make_shares_more_even(group: Group) -> None:
    """A member with two partitions fewer than another one wants none of the other's topics."""
    plan = group.plan(STICKY)
    for poor in group.members:
        for rich in plan.values():
            if len(rich) > len(plan[poor.member_id]) + 1:
                assert not {topic for topic, _ in rich} & poor.topics


@BOTH
@patient
@given(group=groups())
def test_nothing_moves_without_a_reason(assignor: Assignor, group: Group) -> None:
    """A rebalance in which nothing has changed changes nothing."""
    plan = group.plan(assignor)
    assert group.holding(plan, 1).plan(assignor) == plan


@BOTH
@patient
@given(group=groups(equal=True, at_least=2), data=st.data())
def test_a_leave_moves_only_what_was_the_leavers(assignor: Assignor, group: Group, data: st.DataObject) -> None:
    """All other members keep their partitions."""
    before = group.plan(assignor)
    stayed = group.holding(before, 1)
    gone = data.draw(st.sampled_from(group.members)).member_id
    rest = Group(tuple(m for m in stayed.members if m.member_id != gone), group.topics)
    after = rest.plan(assignor)
    assert all(before[member_id] <= share for member_id, share in after.items())
    assert set().union(*after.values()) == group.subscribed()


@patient
@given(groups(equal=True))
def test_a_join_moves_only_what_the_newcomer_gets(group: Group) -> None:
    """Nothing is passed round among those who were there."""
    before = group.plan(STICKY)
    newcomer = MemberSubscription(member_id="new", topics=group.members[0].topics)
    after = Group((*group.holding(before, 1).members, newcomer), group.topics).plan(STICKY)
    assert all(after[member_id] <= share for member_id, share in before.items())


@patient
@given(groups(racks=True, held=True))
def test_nothing_is_given_to_a_new_owner_while_another_holds_it(group: Group) -> None:
    """Cooperative: a member that did not hold a partition gets it only if no member did."""
    for member_id, share in group.plan(COOPERATIVE).items():
        others = {p for other in group.members if other.member_id != member_id for p in other.owned}
        (me,) = [member for member in group.members if member.member_id == member_id]
        assert not (share - me.owned) & others


@patient
@given(groups(held=True, equal=True))
def test_two_rounds_are_enough(group: Group) -> None:
    """After the first, all have given back what they must; the second hands it out; a third changes nothing."""
    first = group.plan(COOPERATIVE)
    after_one = group.holding(first, 4)
    second = after_one.plan(COOPERATIVE)
    assert all(first[member_id] <= share for member_id, share in second.items())
    assert set().union(*second.values()) == group.subscribed()
    assert after_one.holding(second, 5).plan(COOPERATIVE) == second


@patient
@given(groups(held=True))
def test_rounds_come_to_an_end_also_if_subscriptions_differ(group: Group) -> None:
    """Handing out what was given back may call for another move, but not for ever."""
    plan = group.plan(COOPERATIVE)
    for generation in range(4, 8):
        group = group.holding(plan, generation)
        plan = group.plan(COOPERATIVE)
    assert group.holding(plan, 8).plan(COOPERATIVE) == plan
    assert set().union(*plan.values()) == group.subscribed()


ORDERS = {"orders": TopicLayout(4)}
WANTS = frozenset({"orders"})


def _orders(*numbers: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition("orders", number) for number in numbers)


@BOTH
def test_the_later_generation_is_believed(assignor: Assignor) -> None:
    """A member that was away claims what it held then; who got it meanwhile keeps it."""
    away = MemberSubscription(member_id="a", topics=WANTS, owned=_orders(0, 1), generation=3)
    there = MemberSubscription(member_id="b", topics=WANTS, owned=_orders(0, 1), generation=4)
    plan = Group((away, there), ORDERS).plan(assignor)
    assert plan == {"a": _orders(2, 3), "b": _orders(0, 1)}
    swapped = (replace(away, generation=4), replace(there, generation=3))
    assert Group(swapped, ORDERS).plan(assignor) == {"a": _orders(0, 1), "b": _orders(2, 3)}


def test_a_partition_that_two_hold_is_taken_from_both() -> None:
    """Same partition, same generation: in a cooperative group both give it back before a member gets it."""
    holders = [MemberSubscription(member_id=m, topics=WANTS, owned=_orders(0, 1), generation=3) for m in "ab"]
    plan = Group(tuple(holders), ORDERS).plan(COOPERATIVE)
    assert plan == {"a": _orders(2), "b": _orders(3)}


def test_a_subscription_that_shrinks_gives_up_its_topic() -> None:
    """The general way: what a member no longer wants goes to those who do, and nothing else moves."""
    topics = {"orders": TopicLayout(2), "bills": TopicLayout(2)}
    both = frozenset(topics)
    a = MemberSubscription(member_id="a", topics=both)
    b = MemberSubscription(member_id="b", topics=both)
    before = Group((a, b), topics).plan(STICKY)
    held = Group((a, b), topics).holding(before, 1)
    after = Group((replace(held.members[0], topics=WANTS), held.members[1]), topics).plan(STICKY)
    assert after == {"a": _orders(0, 1), "b": frozenset({TopicPartition("bills", 0), TopicPartition("bills", 1)})}


def test_a_replica_nearby_is_worth_a_move() -> None:
    """With equal loads either way, members end up in the racks of their partitions."""
    layout = {"orders": TopicLayout(2, (frozenset({"r1"}), frozenset({"r2"})))}
    a = MemberSubscription(member_id="a", topics=WANTS, rack="r2", owned=_orders(0), generation=1)
    b = MemberSubscription(member_id="b", topics=WANTS, rack="r1", owned=_orders(1), generation=1)
    assert Group((a, b), layout).plan(STICKY) == {"a": _orders(1), "b": _orders(0)}
