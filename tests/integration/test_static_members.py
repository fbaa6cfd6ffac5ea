"""Members with a group.instance.id, and what each way of leaving means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import ConfigError, LeaveMode, MemberState, TopicPartition
from tests.integration.members import eventually

if TYPE_CHECKING:
    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory
    from tests.integration.members import Group, WatchedMember

pytestmark = pytest.mark.kafka


def settled_pair(group: Group, instance_id: str | None) -> tuple[WatchedMember, WatchedMember]:
    """A member of that instance id and a dynamic one, with three partitions each."""
    pair = group.join(instance_id), group.join()
    group.wait_for_shares(pair, group.partitions(6))
    return pair


@pytest.mark.parametrize("mode", [LeaveMode.DEFAULT, LeaveMode.REMAIN, LeaveMode.TEMPORARY])
def test_a_static_restart_disturbs_nobody(group: Group, mode: LeaveMode) -> None:
    """After a temporary leave a new process gets the same partitions at the same group epoch; others notice nothing."""
    static, other = settled_pair(group, "one")
    owned, epoch, calls = static.assignment(), group.epoch, len(other.calls)
    report = static.close(mode)
    assert (report.clean, report.steps[-1].outcome) == (True, "confirmed as temporary")
    successor = group.join("one")
    group.wait_for_shares([successor, other], group.partitions(6))
    assert successor.assignment() == owned
    assert successor.snapshot.member_id != static.snapshot.member_id
    assert (group.epoch, len(other.calls)) == (epoch, calls)


def test_a_rolling_restart_of_a_static_group(group: Group) -> None:
    """Every member is replaced in turn, and only the replaced one sees a callback; the group's epoch stays."""
    members = {name: group.join(name) for name in ("a", "b", "c")}
    group.wait_for_shares(members.values(), group.partitions(6))
    epoch, owned = group.epoch, {name: member.assignment() for name, member in members.items()}
    for name in ("a", "b", "c"):
        calls = {other: len(member.calls) for other, member in members.items() if other != name}
        members[name].close()
        members[name] = group.join(name)
        group.wait_for_shares(members.values(), group.partitions(6))
        assert {other: len(member.calls) for other, member in members.items() if other != name} == calls
    assert {name: member.assignment() for name, member in members.items()} == owned
    assert group.epoch == epoch


def test_a_static_member_that_returns_with_another_subscription(group: Group) -> None:
    """It gets what it asks for now; that is a change of the group, and not an error."""
    other_topic = f"{group.topic}-other"
    group.create_topic(other_topic, 2)
    static = group.join("one")
    static.wait_stable()
    epoch = group.epoch
    static.close()
    successor = group.member("one")
    successor.subscribe([other_topic])
    group.wait_for_shares([successor], [TopicPartition(other_topic, 0), TopicPartition(other_topic, 1)])
    assert group.epoch > epoch


def test_unsubscribing_and_subscribing_again_disturbs_nobody(group: Group) -> None:
    """A static member that unsubscribes leaves temporarily as well, and returns as itself."""
    static, other = settled_pair(group, "one")
    owned, epoch, calls = static.assignment(), group.epoch, len(other.calls)
    static.unsubscribe()
    static.wait(MemberState.UNSUBSCRIBED)
    assert (static.calls[-1].kind, static.calls[-1].partitions) == ("revoked", owned)
    static.subscribe([group.topic])
    group.wait_for_shares([static, other], group.partitions(6))
    assert static.assignment() == owned
    assert (group.epoch, len(other.calls)) == (epoch, calls)


def test_a_static_member_can_leave_for_good(group: Group) -> None:
    """LEAVE hands the partitions over at once, however long the session would still last."""
    static, other = settled_pair(group, "one")
    epoch = group.epoch
    assert static.close(LeaveMode.LEAVE).clean
    group.wait_for_shares([other], group.partitions(6))
    assert group.epoch > epoch


def test_a_static_member_that_does_not_return_expires(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """A temporary leave reserves the partitions for the session timeout and no longer."""
    group = new_group(kafka, consumer_session_timeout_ms=5000)
    static, other = settled_pair(group, "one")
    static.close()
    assert group.knows(static.snapshot.member_id)
    group.wait_for_shares([other], group.partitions(6))


def test_a_dynamic_member_leaves_for_good(group: Group) -> None:
    """By default a dynamic member is gone when close() returns."""
    dynamic, other = settled_pair(group, None)
    report = dynamic.close()
    assert (report.clean, report.steps[-1].outcome) == (True, "confirmed, with its reason")
    assert not group.knows(dynamic.snapshot.member_id)
    group.wait_for_shares([other], group.partitions(6))


def test_a_dynamic_member_that_remains_is_kept_until_its_session_ends(
    kafka: KafkaCluster, new_group: GroupFactory
) -> None:
    """REMAIN says nothing to the coordinator, so the partitions stay reserved for the session timeout."""
    group = new_group(kafka, consumer_session_timeout_ms=5000)
    dynamic, other = settled_pair(group, None)
    report = dynamic.close(LeaveMode.REMAIN)
    assert (report.clean, report.steps[-1].outcome) == (True, "nothing told: stays until its session ends")
    assert group.knows(dynamic.snapshot.member_id)
    eventually(lambda: not group.knows(dynamic.snapshot.member_id), "the session's end")
    group.wait_for_shares([other], group.partitions(6))


def test_a_dynamic_member_cannot_leave_temporarily(group: Group) -> None:
    """The mistake is named before anything happens, and the member goes on."""
    member = group.join()
    member.wait_stable()
    with pytest.raises(ConfigError, match=r"group\.instance\.id"):
        member.close(LeaveMode.TEMPORARY)
    assert member.snapshot.state is MemberState.STABLE
