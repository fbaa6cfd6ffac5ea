"""Coordinators that die, move, pause and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import ConnectionProblem, MemberState
from membership_client.testing import KafkaCluster
from tests.integration.undisturbed import assert_outlives_its_coordinator, assert_undisturbed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.conftest import GroupFactory

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


@pytest.fixture(scope="module")
def fragile_kafka() -> Iterator[KafkaCluster]:
    """A broker that tests may kill and pause, as long as it runs again when they end."""
    with KafkaCluster() as cluster:
        yield cluster


def test_a_coordinator_that_is_killed_is_replaced(kafka_cluster: KafkaCluster, new_group: GroupFactory) -> None:
    """As when it is terminated, in test_moved_coordinator.py; only that nothing prepares for its end."""
    assert_outlives_its_coordinator(kafka_cluster, new_group(kafka_cluster), KafkaCluster.kill)


def test_a_broker_that_restarts(fragile_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """After SIGKILL and a restart within the session nothing has changed, though the outage was visible."""
    group = new_group(fragile_kafka)
    member = group.join()
    before = member.wait_stable()
    fragile_kafka.kill(1)
    dead = member.wait(lambda snapshot: snapshot.error is not None)
    assert isinstance(dead.error, ConnectionProblem)
    assert dead.owned == before.owned
    fragile_kafka.restart(1)
    after = member.wait(lambda snapshot: snapshot.error is None)
    assert after.owned == before.owned
    assert_undisturbed(member, before.epoch)


def test_a_member_may_start_before_its_broker(fragile_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """It keeps trying, says so, and joins once there is a coordinator."""
    group = new_group(fragile_kafka)
    fragile_kafka.kill(1)
    member = group.join()
    waiting = member.wait(lambda snapshot: snapshot.error is not None)
    assert (waiting.state, type(waiting.error)) == (MemberState.JOINING, ConnectionProblem)
    fragile_kafka.restart(1)
    group.wait_for_shares([member], group.partitions(6))


def test_a_broker_that_pauses(fragile_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """A long collection of garbage: longer than the request timeout, shorter than the session."""
    group = new_group(fragile_kafka)
    member = group.join(request_timeout_ms=500, socket_connection_setup_timeout_ms=500)
    before = member.wait_stable()
    fragile_kafka.pause(1)
    silent = member.wait(lambda snapshot: snapshot.error is not None)
    assert isinstance(silent.error, ConnectionProblem)
    fragile_kafka.resume(1)
    after = member.wait(lambda snapshot: snapshot.error is None)
    assert after.owned == before.owned
    assert_undisturbed(member, before.epoch)


def test_close_is_bounded_when_the_broker_is_silent(fragile_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """It gives up when its time is over, and says what it could not do."""
    group = new_group(fragile_kafka)
    member = group.join()
    member.wait_stable()
    fragile_kafka.pause(1)
    report = member.close(timeout_s=1)
    fragile_kafka.resume(1)
    assert not report.clean
    assert [step.name for step in report.steps] == ["revoked callback", "leave"]
    assert report.steps[-1].outcome.startswith("given up: ")
    assert member.assignment() == frozenset()


def test_close_is_bounded_when_the_broker_is_dead(fragile_kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """The same when nothing listens any more; the reason why is in the report."""
    group = new_group(fragile_kafka)
    member = group.join()
    member.wait_stable()
    fragile_kafka.kill(1)
    report = member.close(timeout_s=1)
    fragile_kafka.restart(1)
    assert not report.clean
    assert "cannot connect to 127.0.0.1" in report.steps[-1].outcome
