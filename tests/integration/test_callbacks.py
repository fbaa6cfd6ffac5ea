"""Callbacks that take long, fail, or close the member."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from membership_client import CallbackFailedError, CauseKind, GroupMember, MemberState, TopicPartition
from membership_client.core.events import CallbackKind, RunCallback
from membership_client.core.machine import Step
from tests.integration.members import (
    PATIENCE_S,
    Call,
    RecordingListener,
    assert_never_shared,
    block_through_heartbeats,
    eventually,
)

if TYPE_CHECKING:
    from tests.integration.members import Group

pytestmark = pytest.mark.kafka


class Gate:
    """Holds callbacks until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def __call__(self, call: Call) -> None:
        self.reached.set()
        assert self._open.wait(PATIENCE_S)

    def open(self) -> None:
        self._open.set()


# --- slow ------------------------------------------------------------------------------------------------------------


def test_heartbeats_go_on_while_an_assigned_callback_blocks(group: Group) -> None:
    """The coordinator keeps the member, and the epoch is the same."""
    gate = Gate()
    member = group.join(listener=RecordingListener(assigned=gate))
    assert gate.reached.wait(PATIENCE_S)
    epoch = member.snapshot.epoch
    block_through_heartbeats(member)
    assert member.snapshot.state is MemberState.RECONCILING
    assert member.assignment() == frozenset()
    assert group.knows(member.snapshot.member_id)
    gate.open()
    group.wait_for_shares([member], group.partitions(6))
    assert member.snapshot.epoch == epoch
    assert [call.kind for call in member.calls] == ["assigned"]


def test_partitions_move_only_when_the_revoke_has_returned(group: Group) -> None:
    """The group waits for a revoke that blocks through heartbeats; the next owner begins after it has returned."""
    gate = Gate()
    first = group.join(listener=RecordingListener(revoked=gate))
    first.wait_stable()
    second = group.join()
    assert gate.reached.wait(PATIENCE_S)
    remaining_s = first.calls[-1].context.remaining_s()
    assert remaining_s is not None
    assert remaining_s > 100
    block_through_heartbeats(first)
    assert first.assignment() == group.partitions(6)
    assert second.assignment() == frozenset()
    gate.open()
    group.wait_for_shares([first, second], group.partitions(6))
    assert_never_shared([first, second])
    assert not first.listener.of("lost")


def test_a_revoke_beyond_its_deadline_costs_the_membership(group: Group) -> None:
    """The group waits for max.poll.interval.ms and not longer; the callback learns that it is too late."""
    reached = threading.Event()

    def block(call: Call) -> None:
        reached.set()
        call.context.wait_lost(PATIENCE_S)

    first = group.join(listener=RecordingListener(revoked=block), max_poll_interval_ms=1000)
    first.wait_stable()
    second = group.join()
    assert reached.wait(PATIENCE_S)
    group.wait_for_shares([first, second], group.partitions(6))
    assert first.listener.of("revoked")[0].context.lost
    assert first.listener.of("lost")


def test_callbacks_of_one_member_do_not_hold_up_another(group: Group) -> None:
    """Members of one process have a callback thread each."""
    gate = Gate()
    slow = group.join(listener=RecordingListener(assigned=gate))
    assert gate.reached.wait(PATIENCE_S)
    other = f"{group.topic}-other"
    group.create_topic(other, 1)
    quick = group.member()
    quick.subscribe([other])
    quick.wait(lambda snapshot: len(snapshot.owned) == 1)
    assert slow.assignment() == frozenset()
    gate.open()
    slow.wait(lambda snapshot: len(snapshot.owned) == 6)


def test_a_callback_that_outlasts_the_poll_interval(group: Group) -> None:
    """The member leaves although the callback runs, which learns it; what it was given is lost when it returns."""
    lost: list[bool] = []

    def block(call: Call) -> None:
        if not lost:
            lost.append(call.context.wait_lost(PATIENCE_S))

    member = group.join(listener=RecordingListener(assigned=block), max_poll_interval_ms=1000)
    member.poll()
    member.wait(MemberState.STALE)
    member.wait(lambda snapshot: bool(member.listener.of("lost")))
    assert lost == [True]
    member.poll()
    group.wait_for_shares([member], group.partitions(6))
    assert [call.kind for call in member.calls] == ["assigned", "lost", "assigned"]


def test_callbacks_may_use_the_member(group: Group) -> None:
    """Looking, polling and subscribing inside a callback are all fine."""
    other = f"{group.topic}-other"
    group.create_topic(other, 2)
    seen: list[frozenset[TopicPartition]] = []

    def use(call: Call) -> None:
        member.poll()
        seen.append(member.assignment())
        member.subscribe([group.topic, other])

    member = group.join(listener=RecordingListener(assigned=use))
    member.wait(lambda snapshot: snapshot.state is MemberState.STABLE and len(snapshot.owned) == 8)
    assert seen == [frozenset(), group.partitions(6)]


@pytest.mark.parametrize("kind", [CallbackKind.ASSIGNED, CallbackKind.REVOKED])
def test_ownership_changes_when_the_callback_returns(group: Group, kind: CallbackKind) -> None:
    """And not when the membership thread takes note of that.

    In between, new partitions were taken for another member's, and a slot on Spark dropped their records for good.
    """
    held, released = threading.Event(), threading.Event()

    def hold(step: Step) -> None:
        if any(
            isinstance(effect, RunCallback) and effect.kind is kind and effect.partitions for effect in step.effects
        ):
            held.set()
            released.wait(2 * PATIENCE_S)

    config = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id}
    with GroupMember(config, listener=RecordingListener(), observers=[hold]) as member:
        member.subscribe([group.topic])
        if kind is CallbackKind.REVOKED:
            member.wait_until(MemberState.STABLE, PATIENCE_S)
            member.unsubscribe()
        expected = group.partitions(6) if kind is CallbackKind.ASSIGNED else frozenset()
        assert held.wait(PATIENCE_S)
        eventually(lambda: member.assignment() == member.snapshot.owned == expected, "ownership as of the return")
        assert not released.is_set()
        released.set()


# --- failing ---------------------------------------------------------------------------------------------------------


class FailOnce:
    """The first callback raises."""

    def __init__(self) -> None:
        self.failed = False

    def __call__(self, call: Call) -> None:
        if not self.failed:
            self.failed = True
            raise ValueError("the disk is full")


def test_raise_tries_a_failed_assign_again_and_tells_the_next_poll(group: Group) -> None:
    """The partitions count as owned only after a callback that returned; poll() raises the failure exactly once."""
    member = group.join(listener=RecordingListener(assigned=FailOnce()))
    group.wait_for_shares([member], group.partitions(6))
    assert [(call.kind, call.partitions) for call in member.calls] == [("assigned", group.partitions(6))] * 2
    with pytest.raises(CallbackFailedError, match="the disk is full"):
        member.poll()
    member.poll()
    assert member.error is None


def test_raise_keeps_the_error_visible_until_a_callback_succeeds(group: Group) -> None:
    """While every attempt fails, the member is RECONCILING with an error that says what was raised."""
    broken = threading.Event()
    broken.set()

    def fail(call: Call) -> None:
        if broken.is_set():
            raise ValueError("the disk is full")

    member = group.join(listener=RecordingListener(assigned=fail))
    failed = member.wait(lambda snapshot: snapshot.error is not None and len(member.calls) > 1)
    assert failed.state is MemberState.RECONCILING
    assert isinstance(failed.error, CallbackFailedError)
    assert "raised ValueError" in str(failed.error)
    broken.clear()
    group.wait_for_shares([member], group.partitions(6))
    assert member.error is None


def test_a_failed_revoke_gives_the_partitions_up_all_the_same(group: Group) -> None:
    """Others wait for them, and the application was told."""
    first = group.join(listener=RecordingListener(revoked=FailOnce()))
    first.wait_stable()
    second = group.join()
    group.wait_for_shares([first, second], group.partitions(6))
    with pytest.raises(CallbackFailedError, match="the disk is full"):
        first.poll()
    assert [call.kind for call in first.calls] == ["assigned", "revoked"]


def test_leave_hands_the_partitions_to_others(group: Group) -> None:
    """A member whose callback fails leaves for good and ends; it can subscribe again once it is mended."""
    failing = group.join(listener=RecordingListener(assigned=FailOnce()), callback_errors="leave")
    with pytest.raises(CallbackFailedError, match="raised ValueError"):
        failing.wait_stable()
    assert failing.snapshot.state is MemberState.FATAL
    assert failing.snapshot.cause is not None
    assert failing.snapshot.cause.kind is CauseKind.CALLBACK_FAILED
    eventually(lambda: not group.knows(failing.snapshot.member_id), "a leave")
    other = group.join()
    group.wait_for_shares([other], group.partitions(6))
    failing.subscribe([group.topic])
    group.wait_for_shares([failing, other], group.partitions(6))


def test_continue_takes_the_partitions_in_spite_of_the_failure(group: Group) -> None:
    """The failure is logged and shown, the callback is not repeated, and poll() stays quiet."""
    member = group.join(listener=RecordingListener(assigned=FailOnce()), callback_errors="continue")
    group.wait_for_shares([member], group.partitions(6))
    assert len(member.calls) == 1
    assert isinstance(member.error, CallbackFailedError)
    member.poll()
