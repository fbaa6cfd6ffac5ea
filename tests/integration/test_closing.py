"""Leaving: reasons, reports, and every place close() may be called from."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from membership_client import CauseKind, InvalidRegexError, MemberClosedError, MemberState
from tests.integration.members import PATIENCE_S, Call, RecordingListener, eventually, log_about

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client import CloseReport
    from membership_client.testing import KafkaCluster
    from tests.integration.members import Group
    from tests.integration.processes import MemberProcess

pytestmark = pytest.mark.kafka


# --- reasons ---------------------------------------------------------------------------------------------------------


def test_the_reason_of_a_close_is_in_the_brokers_log(kafka: KafkaCluster, group: Group) -> None:
    """Operators read there why a member left, in the application's own words."""
    member = group.join()
    member.wait_stable()
    report = member.close(reason="scaled in by the operator")
    assert report.reason == "scaled in by the operator"
    assert "client reason: scaled in by the operator" in log_about(kafka, member.snapshot.member_id)()


def test_the_end_of_a_with_block_is_told_apart_from_an_exception(kafka: KafkaCluster, group: Group) -> None:
    """Leaving the block by an exception has its own reason, and the exception goes on."""
    with group.join() as calm:
        calm.wait_stable()
    shaken = group.join()
    shaken.wait_stable()
    with pytest.raises(ZeroDivisionError), shaken:
        _ = 1 / 0
    assert "client reason: closed by the application" in log_about(kafka, calm.snapshot.member_id)()
    said = log_about(kafka, shaken.snapshot.member_id)()
    assert "client reason: closed after an exception: ZeroDivisionError" in said


def test_the_reason_of_an_unsubscribe_is_in_the_brokers_log(kafka: KafkaCluster, group: Group) -> None:
    """unsubscribe() takes a reason too, and the member can be used again."""
    member = group.join()
    member.wait_stable()
    member.unsubscribe(reason="a night's rest")
    member.wait(MemberState.UNSUBSCRIBED)
    assert "client reason: a night's rest" in log_about(kafka, member.snapshot.member_id)()
    member.subscribe([group.topic])
    group.wait_for_shares([member], group.partitions(6))


def test_a_very_long_reason_is_cut_not_refused(kafka: KafkaCluster, group: Group) -> None:
    """Brokers take 255 characters."""
    member = group.join()
    member.wait_stable()
    assert member.close(reason="é" * 1000).clean
    assert "é" * 255 in log_about(kafka, member.snapshot.member_id)()


# --- reports ---------------------------------------------------------------------------------------------------------


def test_a_report_says_what_was_done(group: Group) -> None:
    """The callbacks it waited for and the leave, each with how it ended."""
    member = group.join()
    member.wait_stable()
    report = member.close()
    assert report.clean
    assert [(step.name, step.outcome) for step in report.steps] == [
        ("revoked callback", "returned"),
        ("leave", "confirmed, with its reason"),
    ]
    assert (member.calls[-1].kind, member.calls[-1].partitions) == ("revoked", group.partitions(6))
    assert member.calls[-1].context.cause.kind is CauseKind.CLOSED
    assert member.snapshot.state is MemberState.UNSUBSCRIBED


def test_a_failing_revoke_makes_a_close_unclean_but_complete(group: Group) -> None:
    """The member leaves all the same."""

    def fail(call: Call) -> None:
        raise ValueError("the disk is full")

    member = group.join(listener=RecordingListener(revoked=fail))
    member.wait_stable()
    report = member.close()
    assert not report.clean
    assert [step.outcome for step in report.steps] == ["raised", "confirmed, with its reason"]
    assert not group.knows(member.snapshot.member_id)


def test_a_close_does_not_wait_for_ever_for_a_callback(group: Group) -> None:
    """When its time is up it says which callback still runs, and tells the coordinator no lies about its partitions."""
    gate = threading.Event()

    def block(call: Call) -> None:
        gate.wait(PATIENCE_S)

    member = group.join(listener=RecordingListener(revoked=block))
    member.wait_stable()
    report = member.close(timeout_s=0.5)
    assert not report.clean
    assert report.steps[-1].outcome == "not told: the revoked callback still runs"
    assert group.knows(member.snapshot.member_id)
    gate.set()


# --- where it is called from -----------------------------------------------------------------------------------------


def test_closing_twice(group: Group) -> None:
    """The second time does nothing and gives the same report."""
    member = group.join()
    member.wait_stable()
    assert member.close() is member.close(reason="another")


def test_closing_from_many_threads_at_once(group: Group) -> None:
    """All of them return when the member has left, with the same report."""
    member = group.join()
    member.wait_stable()
    with ThreadPoolExecutor(8) as pool:
        reports = set(pool.map(lambda number: member.close(reason=f"thread {number}"), range(8)))
    assert len(reports) == 1
    assert reports.pop().clean
    assert len(member.listener.of("revoked")) == 1


def test_closing_inside_a_callback(group: Group) -> None:
    """It cannot wait for itself: it returns at once, and the close ends after the callback."""
    reports: list[CloseReport] = []
    member = group.join(listener=RecordingListener(assigned=lambda call: reports.append(member.close())))
    eventually(lambda: member.snapshot.state is MemberState.UNSUBSCRIBED and reports, "a close from within")
    assert reports[0].steps[0].outcome == "goes on by itself"
    assert member.close().clean
    assert not group.knows(member.snapshot.member_id)
    assert [call.kind for call in member.calls] == ["assigned", "revoked"]


def test_closing_before_subscribing(group: Group) -> None:
    """There is nothing to do, and the member is closed."""
    member = group.member()
    assert member.close().clean
    with pytest.raises(MemberClosedError):
        member.subscribe([group.topic])


def test_closing_while_joining(group: Group) -> None:
    """At any moment of a join a close ends cleanly and leaves nobody behind."""
    for delay_s in (0, 0.001, 0.003, 0.006, 0.01, 0.02, 0.04):
        member = group.join()
        time.sleep(delay_s)
        report = member.close()
        assert report.clean, report
    assert group.describe().members == ()


def test_closing_after_a_fatal_error_leaves_the_group(group: Group) -> None:
    """A bad pattern ends a member that is still in the group: its place must not stay taken for a session."""
    member = group.join()
    member.wait_stable()
    member.subscribe_pattern("(")
    with pytest.raises(InvalidRegexError):
        member.wait(lambda snapshot: False)
    assert member.close().clean
    assert not group.knows(member.snapshot.member_id)


def test_closing_in_a_signal_handler(
    kafka: KafkaCluster, group: Group, new_process: Callable[..., MemberProcess]
) -> None:
    """SIGTERM's handler may close: the process ends, and the broker knows why."""
    process = new_process(group, "close on sigterm")
    process.wait_for("ready")
    process.terminate()
    assert process.wait_ended() == 0
    assert process.wait_for("closed")["report"].startswith("clean close (told to stop by SIGTERM)")
    assert "client reason: told to stop by SIGTERM" in log_about(kafka, group.id)()
