"""Classic groups that are full, or that wait for a member that does not come."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from membership_client import (
    GroupFullError,
    MemberState,
)
from membership_client.testing import KafkaCluster
from tests.integration.classic import classic, wait_shared
from tests.integration.members import (
    PATIENCE_S,
    Call,
    Group,
    RecordingListener,
    eventually,
)

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_a_limit_that_is_lowered_under_a_running_group(tmp_path: Path) -> None:
    """The broker loads the group, finds it too large and has it rebalance: the member that comes last ends, the others share."""
    with KafkaCluster(directory=tmp_path) as kafka:
        group = Group(kafka.bootstrap_servers, "lowered")
        group.admin.create_topic(group.topic, 6)
        # The broker does not look whether all others have joined when it turns one away, and waits for the rebalance timeout.
        patient = classic(session_timeout_ms=60_000, max_poll_interval_ms=10_000)
        members = [group.join(name, **patient) for name in (None, None, "one")]
        wait_shared(group, members)
        kafka.terminate(1)
        with (tmp_path / "broker-1" / "server.properties").open("a") as properties:
            properties.write("\ngroup.max.size=2\n")
        kafka.restart(1)
        out = eventually(lambda: [m for m in members if m.snapshot.state is MemberState.FATAL], "one too many")
        assert all(isinstance(member.error, GroupFullError) for member in out)
        wait_shared(group, [member for member in members if member not in out])
        group.close()


@pytest.mark.parametrize("instance_id", [None, "one"], ids=["dynamic", "static"])
def test_a_group_does_not_wait_for_ever(group: Group, instance_id: str | None) -> None:
    """A member that gives nothing back within max.poll.interval.ms is dropped, or passed over if it is static; it learns so at once."""
    release = threading.Event()

    def linger(call: Call) -> None:
        assert call.context.wait_lost(PATIENCE_S)
        release.wait(PATIENCE_S)

    brief = classic(max_poll_interval_ms=3000)
    slow = group.join(instance_id, listener=RecordingListener(revoked=linger), **brief)
    wait_shared(group, [slow])
    other = group.join(**brief)
    other.wait(lambda snapshot: bool(snapshot.owned))
    assert len(other.assignment()) == (6 if instance_id is None else 3)
    eventually(lambda: slow.calls[-1].context.lost, "word that it is too late")
    release.set()
    wait_shared(group, [slow, other])
