"""What every assignor promises, whatever the group looks like."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from membership_client import ConfigError
from membership_client.core.assignors.registry import BUILT_IN, Assignor, is_cooperative, require_assignors
from tests.core.assignors.groups import Group, groups, patient

EVERY = pytest.mark.parametrize("assignor", BUILT_IN.values(), ids=BUILT_IN)


@EVERY
@patient
@given(group=groups(racks=True, held=True))
def test_every_partition_goes_to_one_subscriber(assignor: Assignor, group: Group) -> None:
    """None twice, none to a member that did not ask for it, none left over; except, cooperatively, what others hold."""
    plan = group.plan(assignor)
    assert plan.keys() == {member.member_id for member in group.members}
    given_out = [partition for share in plan.values() for partition in share]
    assert len(given_out) == len(set(given_out))
    claimed = {p for member in group.members for p in member.owned} if assignor.cooperative else set()
    assert group.subscribed() - claimed <= set(given_out) <= group.subscribed()
    for member in group.members:
        assert {topic for topic, _ in plan[member.member_id]} <= member.topics


@EVERY
@patient
@given(group=groups(racks=True, held=True), data=st.data())
def test_the_order_of_joining_means_nothing(assignor: Assignor, group: Group, data: st.DataObject) -> None:
    """The broker lists members as it likes."""
    shuffled = data.draw(st.permutations(group.members))
    assert assignor.assign(shuffled, group.topics) == assignor.assign(group.members, group.topics)


@EVERY
@patient
@given(group=groups(racks=True, held=True), prefix=st.sampled_from("az"))
def test_a_restart_of_static_members_changes_nothing(assignor: Assignor, group: Group, prefix: str) -> None:
    """Whatever member ids the broker hands out to them: instance ids decide."""
    new_id = {m.member_id: prefix + m.member_id[::-1] if m.instance_id else m.member_id for m in group.members}
    restarted = Group(tuple(replace(m, member_id=new_id[m.member_id]) for m in group.members), group.topics)
    expected = {new_id[member_id]: share for member_id, share in group.plan(assignor).items()}
    assert restarted.plan(assignor) == expected


@EVERY
def test_a_group_without_topics_gets_nothing(assignor: Assignor) -> None:
    """Topics that do not exist yet, and ones without partitions, are no reason to fail."""
    assert assignor.assign([], {}) == {}


def test_an_unknown_name_is_refused() -> None:
    """With the names that would do."""
    assert is_cooperative("cooperative-sticky")
    with pytest.raises(ConfigError, match=r"no assignor 'uniform'.*range, roundrobin, sticky, cooperative-sticky"):
        require_assignors(("uniform",))
