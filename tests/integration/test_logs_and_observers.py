"""What people read in the log, and what watchers may do."""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING

import pytest

from membership_client import CallbackKind, CauseKind, GroupMember, MemberState, RebalanceTrigger
from tests.integration.members import PATIENCE_S, RecordingListener
from tests.integration.test_callbacks import Gate

if TYPE_CHECKING:
    from membership_client.core.machine import Step
    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory
    from tests.integration.members import Group

pytestmark = pytest.mark.kafka


def test_an_ordinary_life_is_told_in_info_lines(
    kafka: KafkaCluster, new_group: GroupFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """A line for the protocol, one per rebalance with epoch, cause and what moved, and one for the end; nothing that an operator must act on."""
    caplog.set_level(logging.INFO, "membership_client")
    group = new_group(kafka, consumer_session_timeout_ms=45_000)
    first = group.join("one")
    first.wait_stable()
    second = group.join()
    group.wait_for_shares([first, second], group.partitions(6))
    first.close(reason="enough")
    second.close()
    assert {record.levelno for record in caplog.records} == {logging.INFO}
    mine = [line for line in caplog.messages if line.startswith(f"[{group.id}/one]: ")]
    protocol, joined, *_, shared, left = [line.removeprefix(f"[{group.id}/one]: ") for line in mine]
    assert protocol == "group.protocol=auto takes KIP-848: the coordinator has it"
    assert joined.startswith(
        "stable at epoch 2 with 6 partitions (joined the group; triggered by the application), got "
    )
    assert "with 3 partitions (group changed: " in shared
    assert f", lost {group.topic}[" in shared
    assert left == str(first.last_rebalance)
    assert left.startswith(
        f"not in the group any more (closed: enough; triggered by the application), lost {group.topic}["
    )


def test_a_member_tells_its_last_rebalance_and_what_it_waits_for(group: Group) -> None:
    """The second one's join takes partitions from the first one, whose callback holds it up until it is let go."""
    gate = Gate()
    first = group.join(listener=RecordingListener(revoked=gate))
    first.wait_stable()
    second = group.join()
    assert gate.reached.wait(PATIENCE_S)
    assert "It waits for the revoked callback of" in first.explain()
    assert "__call__ (test_callbacks.py:" in first.explain()
    gate.open()
    group.wait_for_shares([first, second], group.partitions(6))
    report = first.last_rebalance
    assert report is not None
    assert (report.triggered_by, len(report.lost), report.owned) == (RebalanceTrigger.GROUP, 3, 3)
    assert report.callbacks[0].kind is CallbackKind.REVOKED
    assert "Do: nothing, all is well." in first.explain()
    first.close()
    assert first.last_rebalance is not None
    assert first.last_rebalance.cause.kind is CauseKind.CLOSED


def test_a_fence_is_a_warning(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    """With the broker's reason and how much was lost."""
    caplog.set_level(logging.WARNING, "membership_client")
    member = group.join()
    group.remove(member.wait_stable().member_id)
    member.wait(lambda snapshot: bool(member.listener.of("lost")))
    (warning,) = caplog.messages
    assert "out of the group (fenced: UNKNOWN_MEMBER_ID" in warning
    assert "owned 6 partitions" in warning


def test_observers_see_every_step_and_cannot_do_harm(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    """One that raises is dropped with a traceback in the log; the others and the member go on."""
    seen: list[Step] = []

    def fail(step: Step) -> None:
        raise ValueError("a watcher's slip")

    settings = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id}
    with GroupMember(settings, observers=[fail, seen.append]) as member:
        member.subscribe([group.topic])
        member.wait_until(MemberState.STABLE, 30)
    assert len([record for record in caplog.records if record.exc_info is not None]) == 1
    states = [step.after.state for step in seen if step.after.state is not step.before.state]
    s = MemberState
    assert (states[0], states[-2:]) == (s.JOINING, [s.LEAVING, s.UNSUBSCRIBED])
    assert s.STABLE in states
    # Nothing happens between two steps.
    assert all(after.before is before.after for before, after in itertools.pairwise(seen))
