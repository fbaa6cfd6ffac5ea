"""No record passes before the coordinator has confirmed the member, however long that takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from membership_client import FencedInstanceIdError, GroupMember, MemberState, Snapshot
from membership_client_spark.slot import wait_until_confirmed

INTERVAL_S = 5.0


@pytest.fixture(scope="module")
def stable() -> Snapshot:
    """Confirmed a second ago; made of a member that never joined, as only its shape matters."""
    with GroupMember({"bootstrap.servers": "127.0.0.1:1", "group.id": "shop"}) as member:
        blank = member.snapshot
    return replace(blank, state=MemberState.STABLE, heartbeat_interval_s=INTERVAL_S, heartbeat_age_s=1.0)


def looking_at(*snapshots: Snapshot) -> tuple[Callable[[], Snapshot], list[Snapshot]]:
    """Shows one after the other, and those that were not looked at."""
    left = list(snapshots)
    return lambda: left.pop(0), left


def test_a_confirmed_member_does_not_wait(stable: Snapshot) -> None:
    """One look, and the records may pass."""
    look, left = looking_at(stable, stable)
    wait_until_confirmed(look, lambda: False)
    assert len(left) == 1


def test_an_old_confirmation_is_waited_out(stable: Snapshot) -> None:
    """Records were dropped here once, when a coordinator was away for longer than the grace period: they were lost."""
    old = replace(stable, heartbeat_age_s=INTERVAL_S + 30)
    never = replace(stable, heartbeat_age_s=None)
    look, left = looking_at(never, old, old, stable)
    wait_until_confirmed(look, lambda: False)
    assert left == []


def test_who_must_end_does_not_wait(stable: Snapshot) -> None:
    """A slot that is to end gives its records up: they are not committed."""
    old = replace(stable, heartbeat_age_s=INTERVAL_S + 30)
    wait_until_confirmed(lambda: old, lambda: True)


def test_the_end_of_the_member_is_raised(stable: Snapshot) -> None:
    """A fenced one does not wait for a confirmation that cannot come."""
    ended = replace(stable, state=MemberState.FATAL, error=FencedInstanceIdError("taken"))
    with pytest.raises(FencedInstanceIdError):
        wait_until_confirmed(lambda: ended, lambda: False)
