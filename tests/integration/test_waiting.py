"""wait_until, with a member that moves."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from membership_client import ConfigError, MemberClosedError, MemberState, Snapshot, WaitTimeoutError
from tests.integration.members import PATIENCE_S, eventually

if TYPE_CHECKING:
    from tests.integration.members import Group

pytestmark = pytest.mark.kafka


def test_a_wait_that_is_over_says_why(group: Group) -> None:
    """The error of a timeout carries what the member is doing instead."""
    member = group.join()
    member.wait_stable()
    with pytest.raises(WaitTimeoutError, match=r"The member was not STALE within 0\.05 s: stable at epoch \d"):
        member.wait_until(MemberState.STALE, 0.05)


@pytest.mark.parametrize("timeout_s", [-1, 0, float("inf")])
def test_odd_timeouts(group: Group, timeout_s: float) -> None:
    """A wait for what is the case returns, whatever is left of a budget; otherwise a negative rest is no time at all."""
    member = group.join()
    member.wait_stable()
    assert member.wait_until(MemberState.STABLE, timeout_s).state is MemberState.STABLE
    if timeout_s <= 0:
        with pytest.raises(WaitTimeoutError):
            member.wait_until(MemberState.STALE, timeout_s)


def test_a_condition_that_is_none(group: Group) -> None:
    """A slip is named instead of waiting for it for ever."""
    condition: Any = "stable"
    with pytest.raises(ConfigError, match="MemberState"):
        group.member().wait_until(condition)


def test_closing_from_another_thread_wakes_waiting_threads(group: Group) -> None:
    """A wait that can no longer come true ends with an error, not with the timeout."""
    member = group.join()
    member.wait_stable()
    timer = threading.Timer(0.2, member.close)
    timer.start()
    with pytest.raises(MemberClosedError):
        member.wait(lambda snapshot: False)
    timer.join()


def test_waiting_on_a_closed_member(group: Group) -> None:
    """What is the case returns, what cannot be any more is refused at once (it waited for ever, without a timeout)."""
    member = group.join()
    member.wait_stable()
    member.close()
    assert member.wait(MemberState.UNSUBSCRIBED).owned == frozenset()
    began = time.monotonic()
    with pytest.raises(MemberClosedError):
        member.wait_stable()
    assert time.monotonic() - began < PATIENCE_S / 2


def test_a_condition_that_raises_later(group: Group) -> None:
    """It fails its own wait and no other one (it ended all waits of the member, and the failures that poll() raises)."""
    member = group.join()
    member.wait_stable()
    seen: list[Snapshot] = []

    def breaks(snapshot: Snapshot) -> bool:
        seen.append(snapshot)
        if len(seen) > 1:
            raise LookupError("a slip of the user's")
        return False

    with pytest.raises(LookupError, match="a slip"):
        member.wait(breaks)
    member.unsubscribe()
    member.wait(MemberState.UNSUBSCRIBED)


def test_many_threads_may_wait(group: Group) -> None:
    """All of them see the state they wait for, however short it is (white box: all must be waiting first)."""
    member = group.member()
    seen: list[MemberState] = []
    wanted = [MemberState.JOINING, MemberState.RECONCILING, MemberState.ACK, MemberState.STABLE] * 3
    threads = [threading.Thread(target=lambda state=state: seen.append(member.wait(state).state)) for state in wanted]
    for thread in threads:
        thread.start()
    eventually(lambda: len(member._waiters) == len(wanted), "all waiting")
    member.subscribe([group.topic])
    for thread in threads:
        thread.join()
    assert sorted(state.name for state in seen) == sorted(state.name for state in wanted)
