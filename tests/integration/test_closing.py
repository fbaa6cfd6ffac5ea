"""Leaving: reasons, reports, and every place close() may be called from."""

from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from membership_client import (
    CauseKind,
    ConfigError,
    GroupMember,
    InvalidRegexError,
    MemberClosedError,
    MemberConfig,
    MemberState,
)
from tests.integration.members import (
    PATIENCE_S,
    Call,
    RecordingListener,
    assert_never_shared,
    block_through_heartbeats,
    eventually,
    log_about,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client import CloseReport
    from membership_client.core.machine import Step
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


def test_a_reason_that_is_an_exception(kafka: KafkaCluster, group: Group) -> None:
    """Its text is the reason (the membership thread ended over it, and the place stayed taken for a session)."""
    member = group.join()
    member.wait_stable()
    error: Any = ValueError("the disk is full")
    assert member.close(reason=error).clean
    assert "client reason: the disk is full" in log_about(kafka, member.snapshot.member_id)()


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
    joined = threading.Event()

    def close(_: Call) -> None:
        joined.wait(PATIENCE_S)  # The callback may come before `join` has returned.
        reports.append(member.close())

    member = group.join(listener=RecordingListener(assigned=close))
    joined.set()
    eventually(lambda: member.snapshot.state is MemberState.UNSUBSCRIBED and reports, "a close from within")
    assert reports[0].steps[0].outcome == "goes on by itself"
    assert member.close().clean
    assert not group.knows(member.snapshot.member_id)
    assert [call.kind for call in member.calls] == ["assigned", "revoked"]


@pytest.mark.parametrize("timeout_s", [-1, 0, float("inf"), float("nan")])
def test_odd_timeouts(group: Group, timeout_s: float) -> None:
    """The rest of a budget may be negative, and infinity means what it says: both closes end, and neither raises."""
    member = group.join()
    member.wait_stable()
    report = member.close(timeout_s=timeout_s)
    assert report.clean is (timeout_s == float("inf"))


def test_a_mode_that_is_none(group: Group) -> None:
    """A slip is named before anything happens."""
    mode: Any = "leave"
    member = group.join()
    member.wait_stable()
    with pytest.raises(ConfigError, match="LeaveMode"):
        member.close(mode)
    with pytest.raises(ConfigError, match="LeaveMode"):
        member.unsubscribe(mode)
    assert member.snapshot.state is MemberState.STABLE


def test_closing_before_subscribing(group: Group) -> None:
    """There is nothing to do, and the member is closed."""
    member = group.member()
    assert member.close().clean
    with pytest.raises(MemberClosedError):
        member.subscribe([group.topic])


def test_closing_while_joining(group: Group) -> None:
    """At any moment of a join a close ends cleanly and leaves no member behind."""
    with group.join() as first:
        first.wait_stable()
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


@pytest.mark.parametrize("plan", ["close on sigterm", "close on sigterm while waiting"])
def test_closing_in_a_signal_handler(
    kafka: KafkaCluster, group: Group, new_process: Callable[..., MemberProcess], plan: str
) -> None:
    """SIGTERM's handler may close, whatever it interrupts: the process ends, and the broker knows why."""
    process = new_process(group, plan)
    process.wait_for("ready")
    process.terminate()
    assert process.wait_ended() == 0
    assert process.wait_for("closed")["report"].startswith("clean close (told to stop by SIGTERM)")
    assert "client reason: told to stop by SIGTERM" in log_about(kafka, group.id)()


def test_closing_inside_an_observer(group: Group) -> None:
    """As inside a callback: the membership thread cannot wait for itself."""
    reports: list[CloseReport] = []

    def close_when_stable(step: Step) -> None:
        if step.after.state is MemberState.STABLE and not reports:
            reports.append(observed.close())

    config = MemberConfig(bootstrap_servers=group.bootstrap_servers, group_id=group.id)
    with GroupMember(config, observers=[close_when_stable]) as observed:
        observed.subscribe([group.topic])
        eventually(lambda: reports, "a close from within")
        assert reports[0].steps[0].outcome == "goes on by itself"
        assert observed.close().clean
    assert not group.knows(observed.snapshot.member_id)


# --- slow farewells --------------------------------------------------------------------------------------------------


def test_heartbeats_go_on_while_the_last_revoke_runs(kafka: KafkaCluster, group: Group) -> None:
    """No other member gets the partitions before the revoke of a close has returned."""
    leaving = group.join(listener=RecordingListener(revoked=lambda call: block_through_heartbeats(leaving)))
    leaving.wait_stable()
    other = group.member()
    closer = threading.Thread(target=leaving.close)
    closer.start()
    eventually(lambda: leaving.listener.of("revoked"), "the last revoke")
    other.subscribe([group.topic])
    closer.join()
    group.wait_for_shares([other], group.partitions(6))
    assert_never_shared([leaving, other])
    assert leaving.close().clean
    assert "session expired" not in log_about(kafka, leaving.snapshot.member_id)()


def test_a_new_subscription_while_leaving(group: Group) -> None:
    """The leave is completed first, then the member joins again."""
    gate = threading.Event()

    def block(call: Call) -> None:
        assert gate.wait(PATIENCE_S)

    member = group.join(listener=RecordingListener(revoked=block))
    member.wait_stable()
    member.unsubscribe()
    eventually(lambda: member.listener.of("revoked"), "the revoke")
    member.subscribe([group.topic])
    gate.set()
    group.wait_for_shares([member], group.partitions(6))
    assert [call.kind for call in member.calls] == ["assigned", "revoked", "assigned"]


def test_a_storm_of_calls(group: Group) -> None:
    """However often an application changes its mind, the last word counts."""
    member = group.member()
    for number in range(60):
        member.subscribe([group.topic])
        if number % 3 == 0:
            member.unsubscribe()
        if number % 7 == 0:
            time.sleep(0.01)
    member.subscribe([group.topic])
    group.wait_for_shares([member], group.partitions(6))
    assert member.error is None


# --- nothing left behind ---------------------------------------------------------------------------------------------


def test_closed_members_leave_nothing_behind(group: Group) -> None:
    """No thread and no descriptor outlives a close."""

    def join_and_close() -> None:
        with group.join() as member:
            member.wait_stable()

    join_and_close()
    before = open_descriptors()
    for _ in range(5):
        join_and_close()
    eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith(group.id)], "no threads")
    group.members.clear()
    gc.collect()
    eventually(lambda: open_descriptors() <= before, "no descriptors")


def open_descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())
