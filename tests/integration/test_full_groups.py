"""Groups with room for two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import GroupFullError, MemberState
from membership_client.testing import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.conftest import GroupFactory

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def small_kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(settings={"group.consumer.max.size": 2}) as cluster:
        yield cluster


def test_a_full_group_is_fatal_and_says_its_limit(small_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """One member too many ends with the limit and the ways out; those inside are undisturbed; later it may try again."""
    group = new_group(small_kafka)
    inside = [group.join(), group.join()]
    group.wait_for_shares(inside, group.partitions(6))
    third = group.join()
    with pytest.raises(GroupFullError, match=r"\b2\b.*group\.consumer\.max\.size.*retry_when_full_s"):
        third.wait_stable()
    assert third.snapshot.state is MemberState.FATAL
    group.wait_for_shares(inside, group.partitions(6))
    inside.pop().close()
    third.subscribe([group.topic])
    group.wait_for_shares([*inside, third], group.partitions(6))
    assert third.error is None


def test_waiting_for_room(small_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """With retry_when_full_s a member waits outside, says so, and enters once another has left."""
    group = new_group(small_kafka)
    inside = [group.join(), group.join()]
    group.wait_for_shares(inside, group.partitions(6))
    third = group.join(retry_when_full_s=0.2)
    waiting = third.wait(lambda snapshot: snapshot.error is not None)
    assert isinstance(waiting.error, GroupFullError)
    assert waiting.state is MemberState.JOINING
    assert third.health().live
    assert not third.health().ready
    inside.pop().close()
    group.wait_for_shares([*inside, third], group.partitions(6))
    assert third.error is None


def test_closing_while_waiting_for_room(small_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """A member that was never admitted needs no leave request."""
    group = new_group(small_kafka)
    group.wait_for_shares([group.join(), group.join()], group.partitions(6))
    third = group.join(retry_when_full_s=60)
    third.wait(lambda snapshot: snapshot.error is not None)
    report = third.close()
    assert (report.clean, report.steps[-1].outcome) == (True, "nothing to tell: not in the group")


def test_a_static_member_keeps_its_place_in_a_full_group(small_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """Kafka 4.3 counts by member id: the same member may return to its place; its successor, a new id, is refused."""
    group = new_group(small_kafka)
    other, static = group.join(), group.join("one")
    group.wait_for_shares([other, static], group.partitions(6))
    owned = static.assignment()
    static.unsubscribe()
    static.wait(MemberState.UNSUBSCRIBED)
    static.subscribe([group.topic])
    group.wait_for_shares([other, static], group.partitions(6))
    assert static.assignment() == owned
    static.close()
    with pytest.raises(GroupFullError):
        group.join("one").wait_stable()
