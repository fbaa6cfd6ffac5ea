"""A member keeps its epoch and partitions when its coordinator stops."""

from __future__ import annotations

from collections.abc import Callable

from membership_client import MemberState
from membership_client.testing import KafkaCluster
from tests.integration.members import Group, WatchedMember


def assert_undisturbed(member: WatchedMember, epoch: int) -> None:
    """Assert that the member has the same epoch, and no callback has run since the first."""
    assert member.snapshot.epoch == epoch
    assert [call.kind for call in member.calls] == ["assigned"]
    assert MemberState.FENCED not in member.states


def assert_outlives_its_coordinator(
    cluster: KafkaCluster, group: Group, end: Callable[[KafkaCluster, int], None]
) -> None:
    """The member finds the next coordinator by itself and keeps its partitions and its epoch."""
    member = group.join_alone()
    before = member.snapshot
    assert before.coordinator is not None
    old = before.coordinator.node_id
    assert old == group.admin.coordinator(group.id)
    end(cluster, old)
    try:
        moved = member.wait(lambda s: s.coordinator is not None and s.coordinator.node_id != old and s.error is None)
        assert moved.owned == group.partitions(6)
        assert_undisturbed(member, before.epoch)
        other = group.join()
        group.wait_for_shares([member, other], group.partitions(6))
    finally:
        cluster.restart(old)
