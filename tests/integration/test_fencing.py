"""Being thrown out of the group, and coming back."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from membership_client import CauseKind, MembershipThreadError, MemberState
from tests.integration.members import PATIENCE_S, Call, RecordingListener, eventually

if TYPE_CHECKING:
    from tests.integration.members import Group

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("instance_id", [None, "one"])
def test_a_member_removed_from_outside_comes_back(group: Group, instance_id: str | None) -> None:
    """It loses its partitions, is told why, joins again by itself under its own id, and owns partitions again."""
    member = group.join(instance_id)
    member_id = member.wait_stable().member_id
    group.remove(member_id, instance_id)
    member.wait(lambda snapshot: bool(member.listener.of("lost")))
    group.wait_for_shares([member], group.partitions(6))
    assert member.states[4:6] == [MemberState.FENCED, MemberState.JOINING]
    assigned, lost, again = member.calls
    assert (lost.kind, lost.partitions, lost.context.cause.kind) == ("lost", group.partitions(6), CauseKind.FENCED)
    assert (again.kind, again.partitions, again.context.cause.kind) == (
        "assigned",
        assigned.partitions,
        CauseKind.JOINED,
    )
    assert member.snapshot.member_id == member_id


def test_a_blocked_callback_learns_that_its_partitions_are_lost(group: Group) -> None:
    """`context.lost` flips while the callback runs; what it was given counts as owned, so it is lost when it returns."""
    entered, woken = threading.Event(), threading.Event()

    def block(call: Call) -> None:
        if not entered.is_set():
            entered.set()
            assert not call.context.lost
            assert call.context.wait_lost(PATIENCE_S)
            woken.set()

    member = group.join(listener=RecordingListener(assigned=block))
    assert entered.wait(PATIENCE_S)
    group.remove(member.snapshot.member_id)
    assert woken.wait(PATIENCE_S)
    group.wait_for_shares([member], group.partitions(6))
    assert [call.kind for call in member.calls] == ["assigned", "lost", "assigned"]
    assert [call.context.lost for call in member.calls] == [True, False, False]


def test_a_fence_in_a_revoke_loses_only_what_is_still_owned(group: Group) -> None:
    """Partitions of the running revoke end with it; the others are lost; none is passed twice."""
    entered = threading.Event()

    def block(call: Call) -> None:
        entered.set()
        call.context.wait_lost(PATIENCE_S)

    first = group.join(listener=RecordingListener(revoked=block))
    first.wait_stable()
    second = group.join()
    assert entered.wait(PATIENCE_S)
    group.remove(first.snapshot.member_id)
    group.wait_for_shares([first, second], group.partitions(6))
    revoked, lost = first.calls[1], first.calls[2]
    assert (revoked.kind, lost.kind) == ("revoked", "lost")
    assert revoked.context.lost
    assert len(revoked.partitions) == len(lost.partitions) == 3
    assert revoked.partitions | lost.partitions == group.partitions(6)


@pytest.mark.parametrize("busy", [False, True])
def test_a_membership_thread_that_dies_ends_the_member(group: Group, busy: bool) -> None:
    """Nothing is owned, the lost callback runs, and everything that is called says why; also while a callback runs.

    It used to seem STABLE and to own its partitions, and who called it read that the member is closed.
    """
    reached, going_on = threading.Event(), threading.Event()

    def hold(call: Call) -> None:
        reached.set()
        assert not busy or going_on.wait(PATIENCE_S)

    listener = RecordingListener(assigned=hold)
    member = group.join(listener=listener)
    if busy:
        assert reached.wait(PATIENCE_S)
    else:
        group.wait_for_shares([member], group.partitions(6))
    member._worker._transport.wait = lambda timeout_s: 1 / 0  # type: ignore[assignment, return-value]
    member._worker._transport.wakeup()
    eventually(lambda: member.snapshot.state is MemberState.FATAL, "the end")
    ended = member.snapshot
    assert not ended.owned
    assert isinstance(ended.error, MembershipThreadError)
    going_on.set()
    eventually(lambda: listener.of("lost"), "the lost callback")
    assert frozenset(listener.of("lost")[0].partitions) == group.partitions(6)
    assert (member.health().live, member.assignment()) == (False, frozenset())
    for call in (member.poll, lambda: member.commit({}), lambda: member.subscribe(["orders"])):
        with pytest.raises(MembershipThreadError, match="ZeroDivisionError"):
            call()
    member.close()


def test_a_member_removed_while_it_closes_is_closed(group: Group) -> None:
    """A leave that finds the member gone has nothing left to do: the close is clean."""
    member = group.join(listener=RecordingListener(revoked=lambda call: group.remove(member.snapshot.member_id)))
    member.wait_stable()
    report = member.close()
    assert report.clean, report
    assert not group.knows(member.snapshot.member_id)
