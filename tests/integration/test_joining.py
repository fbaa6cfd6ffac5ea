"""Getting in: alone, with others, many at once; every partition with one owner at every moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import CauseKind, MemberState, Share
from membership_client.core.view import share_of
from tests.integration.members import assert_never_shared

if TYPE_CHECKING:
    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory
    from tests.integration.members import Group

pytestmark = pytest.mark.kafka


def test_a_lone_member_owns_everything(group: Group) -> None:
    """The first member is told of every partition exactly once, and its snapshot says what the coordinator says."""
    member = group.join()
    snapshot = member.wait_stable()
    described = group.describe().member(snapshot.member_id)
    assert snapshot.owned == snapshot.target == described.current == group.partitions(6)
    assert (snapshot.epoch, snapshot.share, snapshot.error) == (described.epoch, Share.ASSIGNED, None)
    assert [(call.kind, call.partitions) for call in member.calls] == [("assigned", group.partitions(6))]
    assert member.calls[0].context.cause.kind is CauseKind.JOINED
    assert member.health().ready


def test_states_on_the_way_in(group: Group) -> None:
    """A join goes through joining, reconciling and ack, and is stable only when the coordinator has confirmed."""
    member = group.join()
    member.wait_stable()
    s = MemberState
    assert member.states == [s.JOINING, s.RECONCILING, s.ACK, s.STABLE]


@pytest.mark.parametrize("count", [2, 5])
def test_members_that_join_together_share(kafka: KafkaCluster, new_group: GroupFactory, count: int) -> None:
    """Members that join at the same moment, with assignments computed in batches, end up with an equal share each."""
    group = new_group(kafka, partitions=10, consumer_assignment_interval_ms=1000)
    members = [group.join() for _ in range(count)]
    group.wait_for_shares(members, group.partitions(10))
    assert {len(member.assignment()) for member in members} == {10 // count}
    assert_never_shared(members)


def test_scaling_up_and_down_moves_only_what_must_move(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """From one to five members and back: only newcomers gain on the way up, and no member loses on the way down."""
    group = new_group(kafka, partitions=12)
    everything = group.partitions(12)
    members = [group.join()]
    group.wait_for_shares(members, everything)
    for _ in range(4):
        before = [member.assignment() for member in members]
        members.append(group.join())
        group.wait_for_shares(members, everything)
        assert all(now.assignment() <= was for now, was in zip(members, before, strict=False))
    while len(members) > 1:
        members.pop(0).close()
        before = [member.assignment() for member in members]
        revoked = [len(member.listener.of("revoked")) for member in members]
        group.wait_for_shares(members, everything)
        assert all(now.assignment() >= was for now, was in zip(members, before, strict=True))
        assert [len(member.listener.of("revoked")) for member in members] == revoked
    assert not any(member.listener.of("lost") for member in group.members)
    assert_never_shared(group.members)


def test_a_standby_is_ready_with_nothing(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """A member more than there are partitions is told so: its share is NONE in the end, and it is ready."""
    group = new_group(kafka, partitions=1)
    owner = group.join()
    group.wait_for_shares([owner], group.partitions(1))
    standby = group.join()
    standby.wait(lambda snapshot: snapshot.state is MemberState.STABLE and snapshot.share is Share.NONE)
    assert standby.health().ready
    assert [(call.kind, call.partitions) for call in standby.calls] == [("assigned", frozenset())]
    owner.close()
    group.wait_for_shares([standby], group.partitions(1))


def test_thirty_members_in_one_process(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """Thirty members share sixty partitions, two each, and all of them leave."""
    group = new_group(kafka, partitions=60, consumer_assignment_interval_ms=1000, consumer_heartbeat_interval_ms=500)
    members = [group.join() for _ in range(30)]
    group.wait_for_shares(members, group.partitions(60))
    assert {len(member.assignment()) for member in members} == {2}
    assert_never_shared(members)
    assert all(member.close().clean for member in members)
    assert group.describe().members == ()


# --- assignments in batches ------------------------------------------------------------------------------------------


def test_a_second_joiner_first_hears_of_a_provisional_nothing(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """Inside the assignment interval a joiner is told "nothing yet", which is not "nothing"; then its share comes."""
    group = new_group(kafka, consumer_assignment_interval_ms=1000)
    first = group.join()
    first.wait_stable()
    second = group.join()
    group.wait_for_shares([first, second], group.partitions(6))
    greeting, filled = second.calls
    assert (greeting.kind, greeting.partitions, greeting.context.provisional) == ("assigned", frozenset(), True)
    assert (filled.kind, len(filled.partitions)) == ("assigned", 3)
    greeted = next(step.after for step in second.steps if step.after.greeted)
    assert share_of(greeted) is Share.PENDING


def test_partitions_do_not_wait_for_the_next_heartbeat(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """A joiner that is owed partitions asks early: with 30 s between heartbeats its share still comes in a few."""
    group = new_group(kafka, consumer_assignment_interval_ms=1000, consumer_heartbeat_interval_ms=30_000)
    other = f"{group.topic}-other"
    group.create_topic(other, partitions=2)
    group.join().wait_stable()
    second = group.member()
    second.subscribe([other])
    snapshot = second.wait_until(lambda snapshot: len(snapshot.owned) == 2, timeout_s=20)
    assert snapshot.heartbeat_interval_s == 30


def test_without_batches_the_first_answer_is_the_last(group: Group) -> None:
    """With an assignment interval of 0 the target is computed with the join, so nothing is left open."""
    first = group.join()
    first.wait_stable()
    second = group.join()
    group.wait_for_shares([first, second], group.partitions(6))
    assert group.epoch == second.snapshot.epoch


# --- settings of the group and of the member -------------------------------------------------------------------------


def test_a_new_heartbeat_interval_is_adopted(group: Group) -> None:
    """The interval comes with every answer, so a change by the operator takes effect without a restart."""
    member = group.join()
    assert member.wait_stable().heartbeat_interval_s == 0.2
    group.admin.set_group_config(group.id, consumer_heartbeat_interval_ms=700)
    snapshot = member.wait(lambda snapshot: snapshot.heartbeat_interval_s == 0.7)
    assert snapshot.state is MemberState.STABLE
    assert [call.kind for call in member.calls] == ["assigned"]


def test_a_rack_is_accepted(group: Group) -> None:
    """A member may say where it stands."""
    member = group.join(client_rack="here")
    assert member.wait_stable().owned == group.partitions(6)
