"""What counts as a sign of life of a member."""

from __future__ import annotations

from dataclasses import replace

import pytest

from membership_client import Offset, TopicPartition
from membership_client.admin import GroupView, Life, Sign
from membership_client.admin.removal import Signs
from tests.admin.test_watch import SLOW, VIEW

FIRST = replace(VIEW, members=(SLOW,))
CLASSIC = replace(FIRST, protocol="classic", members=(replace(SLOW, epoch=None, is_classic=True),))


SILENT = {TopicPartition("orders", 0): Offset(10)}
"""It has read all there is."""


def seen(first: GroupView, after: GroupView, *, after_s: float = 6.0) -> Sign:
    signs = Signs(first, 100.0, session_timeout_s=45.0)
    signs.see(after, 100.0 + after_s)
    return signs.of(first.members[0])


@pytest.mark.parametrize(
    ("after", "sign"),
    [
        (replace(FIRST, members=(replace(SLOW, epoch=5),)), "its epoch moved from 4 to 5"),
        (replace(FIRST, members=(replace(SLOW, current=SLOW.target),)), "its partitions changed"),
        (replace(FIRST, members=(replace(SLOW, member_id="m9"),)), "it joined again, as m9"),
        (replace(FIRST, committed={TopicPartition("orders", 0): Offset(8)}), "it committed offsets of orders[0]"),
    ],
)
def test_what_a_live_member_causes_is_a_sign(after: GroupView, sign: str) -> None:
    """It counts even if records wait for the member."""
    assert seen(FIRST, after) == Sign(Life.ALIVE, sign)


@pytest.mark.parametrize(
    "after",
    [
        FIRST,
        replace(FIRST, epoch=9, assignment_epoch=9, members=(replace(SLOW, target=SLOW.current),)),
        replace(FIRST, committed=dict(FIRST.committed) | {TopicPartition("bills", 0): Offset(8)}),
    ],
)
def test_a_member_for_which_records_wait_in_vain_looks_dead(after: GroupView) -> None:
    """Changes that others cause, such as a new target or commits of other partitions, are no signs of life."""
    why = "it committed nothing in 6 s, and 3 records of orders[0] wait for it"
    assert seen(FIRST, after) == Sign(Life.GONE, why)


def test_a_member_that_said_goodbye_is_gone() -> None:
    """No observation is needed."""
    away = replace(FIRST, members=(replace(SLOW, epoch=-2),))
    signs = Signs(away, 100.0, session_timeout_s=45.0)
    assert signs.settled == {"till-1"}
    assert signs.of(SLOW) == Sign(Life.GONE, "it has left temporarily")


def test_who_is_no_member_any_more_is_gone() -> None:
    """A member that left while it was watched was once reported as perhaps alive."""
    idle = replace(FIRST, committed=SILENT)
    signs = Signs(idle, 100.0, session_timeout_s=45.0)
    signs.see(replace(idle, members=()), 101.0)
    assert signs.settled == {"till-1"}
    assert signs.of(SLOW) == Sign(Life.GONE, "it is no longer a member")


def test_an_idle_member_may_be_alive() -> None:
    """It has read all records, or its offsets are not known."""
    for committed in (SILENT, {}):
        idle = replace(FIRST, committed=committed)
        assert seen(idle, idle).life is Life.UNKNOWN


def test_in_a_classic_group_others_change_what_a_member_has() -> None:
    """During a rebalance no member has partitions, and afterwards the leader has assigned new ones."""
    rebalancing = replace(CLASSIC, members=(replace(CLASSIC.members[0], current=frozenset()),))
    assert seen(CLASSIC, rebalancing).life is Life.GONE


def test_only_a_kip_848_member_is_proven_alive_by_a_session() -> None:
    """A classic member has its own session timeout, which coordinators do not report."""
    assert "still there after a session timeout of 45 s" in seen(FIRST, FIRST, after_s=46.0).why
    assert seen(CLASSIC, CLASSIC, after_s=46.0).life is Life.GONE
