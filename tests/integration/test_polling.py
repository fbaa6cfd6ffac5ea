"""max.poll.interval.ms, for applications that poll."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from membership_client import CauseKind, MemberState
from tests.integration.members import eventually, log_about

if TYPE_CHECKING:
    from membership_client.testing import KafkaCluster
    from tests.integration.members import Group, WatchedMember

pytestmark = pytest.mark.kafka


class Poller:
    """Polls until told to stop."""

    def __init__(self, member: WatchedMember) -> None:
        self._member = member
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _work(self) -> None:
        self._member.poll()
        while not self._stopped.wait(0.05):
            self._member.poll()


def test_an_application_that_stops_polling_loses_its_place(
    kafka: KafkaCluster, group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    """It is warned at 50 and 80 %, leaves with the reason, others take over, and its next poll joins again."""
    caplog.set_level("WARNING", "membership_client")
    member, other = group.join(max_poll_interval_ms=2500), group.join()
    poller = Poller(member)
    group.wait_for_shares([member, other], group.partitions(6))
    owned = member.assignment()
    assert caplog.messages == []
    poller.stop()
    member.wait(MemberState.STALE)
    warned = [message for message in caplog.messages if "for the next poll are gone" in message]
    assert len(warned) == 2
    assert all("max.poll.interval.ms" in message for message in warned)
    group.wait_for_shares([other], group.partitions(6))
    lost = member.calls[-1]
    assert (lost.kind, lost.partitions) == ("lost", owned)
    assert lost.context.cause.kind is CauseKind.POLL_INTERVAL_EXCEEDED
    assert "poll interval exceeded: 2.5 s" in log_about(kafka, group.id)()
    poller = Poller(member)
    group.wait_for_shares([member, other], group.partitions(6))
    poller.stop()


def test_who_never_polls_needs_not_to(group: Group) -> None:
    """The clock starts with the first poll, so membership without polling has no poll interval."""
    member = group.join(max_poll_interval_ms=300)
    member.wait_stable()
    age = len(member.steps)
    eventually(lambda: len(member.steps) > age + 10, "ten more steps, at five heartbeats a second")
    assert member.snapshot.state is MemberState.STABLE
    assert [call.kind for call in member.calls] == ["assigned"]


def test_a_stale_member_stays_out_until_it_polls(group: Group) -> None:
    """Being outside is visible, live and not ready; close() then has no coordinator to tell."""
    member = group.join(max_poll_interval_ms=500)
    member.wait_stable()
    member.poll()
    member.wait(MemberState.STALE)
    eventually(lambda: not group.knows(member.snapshot.member_id), "a leave")
    eventually(lambda: member.assignment() == frozenset(), "nothing owned")
    assert member.health().live
    assert not member.health().ready
    report = member.close()
    assert (report.clean, report.steps[-1].outcome) == (True, "nothing to tell: not in the group")
