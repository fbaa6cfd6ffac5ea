"""An assignor of one's own: any function will do, and what it may not do is said before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given

from membership_client.core.assignors.registry import (
    BUILT_IN,
    Assignor,
    flaw_in,
    is_cooperative,
    register_assignor,
    require_assignors,
)
from membership_client.errors import ConfigError
from membership_client.subscriptions import Assignment, MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from tests.core.assignors.groups import Group, groups, patient

MEMBERS = (
    MemberSubscription(member_id="a", topics=frozenset({"orders"}), owned=frozenset({TopicPartition("orders", 0)})),
    MemberSubscription(member_id="b", topics=frozenset({"orders", "gone"})),
)
TOPICS = {"orders": TopicLayout(2), "bills": TopicLayout(1)}
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def all_to_one(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Assignment:
    """An assignor of an application: one member works, the others stand by."""
    worker = min(subscriptions, key=lambda member: member.rank)
    return {worker.member_id: [TopicPartition(t, n) for t in worker.topics & topics.keys() for n in range(2)]}


def test_a_function_is_an_assignor() -> None:
    """With a name that all members offer."""
    standby = Assignor("standby", all_to_one)
    plan = standby.assign(MEMBERS, TOPICS)
    assert plan == {"a": [FIRST, SECOND]}
    assert flaw_in(plan, MEMBERS, TOPICS) is None


@pytest.mark.parametrize("assignor", BUILT_IN.values(), ids=BUILT_IN)
@patient
@given(group=groups(racks=True, held=True))
def test_our_own_plans_have_no_flaws(assignor: Assignor, group: Group) -> None:
    """Whatever members claim."""
    plan = assignor.assign(group.members, group.topics)
    assert flaw_in(plan, group.members, group.topics, cooperative=assignor.cooperative) is None


@pytest.mark.parametrize(
    ("plan", "flaw"),
    [
        ({"c": []}, "it names c, which is not in the group"),
        ({"a": [FIRST], "b": [FIRST]}, "it gives orders-0 to a and to b"),
        ({"a": [TopicPartition("bills", 0)]}, "it gives bills-0 to a, which did not subscribe to it"),
        ({"b": [TopicPartition("gone", 0)]}, "it gives gone-0 to b, and there is no such partition"),
        ({"b": [TopicPartition("orders", 2)]}, "it gives orders-2 to b, and there is no such partition"),
    ],
)
def test_plans_that_must_not_be_sent(plan: Assignment, flaw: str) -> None:
    """Each with what is wrong, for the error that tells its author."""
    assert flaw_in(plan, MEMBERS, TOPICS) == flaw


def test_a_cooperative_plan_waits_for_the_owner() -> None:
    """Giving away what another holds is a flaw only where members keep what they have while they join."""
    plan = {"a": [SECOND], "b": [FIRST]}
    assert flaw_in(plan, MEMBERS, TOPICS) is None
    assert flaw_in(plan, MEMBERS, TOPICS, cooperative=True) == "it gives orders-0 to b while a still holds it"


def test_an_unknown_strategy_is_refused_before_a_member_leads() -> None:
    """A leader without it could make no plan; the text says which there are."""
    require_assignors(("range", "cooperative-sticky"))
    with pytest.raises(ConfigError, match=r"there is no assignor 'rnge'\. Use one of range, roundrobin, sticky"):
        require_assignors(("range", "rnge"))


def test_an_assignor_is_cooperative_or_not() -> None:
    """A mistake here would be found by the first rebalance."""
    with pytest.raises(ConfigError, match="cooperative must be True or False"):
        register_assignor("standby", all_to_one, cooperative=1)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="assign must be a function"):
        register_assignor("standby", None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="name must be a non-empty string"):
        register_assignor("", all_to_one)
    with pytest.raises(ConfigError, match="There is an assignor 'range' already"):
        register_assignor("range", all_to_one)


@pytest.mark.parametrize("cooperative", [True, False])
def test_an_assignor_cooperates_only_if_it_says_so(cooperative: bool) -> None:
    """An eager one must get all partitions back before a join, or its plan would have two owners for some."""
    register_assignor(f"says {cooperative}", all_to_one, cooperative=cooperative)
    register_assignor("says nothing", all_to_one)
    assert is_cooperative(f"says {cooperative}") is cooperative
    assert is_cooperative("says nothing") is Assignor("standby", all_to_one).cooperative is False
    assert is_cooperative("unheard-of") is False


def test_an_unknown_strategy_is_refused_with_those_that_there_are() -> None:
    """Those that every client knows, and the application's own."""
    register_assignor("weighted", all_to_one)
    with pytest.raises(ConfigError, match=r"Use one of range, .*weighted"):
        require_assignors(("wieghted",))
