"""A member of each kind is killed, and nobody says goodbye for it."""

from __future__ import annotations

import pytest

from tests.peers.conftest import GroupFactory
from tests.peers.group import PeerGroup
from tests.peers.peer import KINDS, PeerKind

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_a_dynamic_member(new_group: GroupFactory, kind: PeerKind) -> None:
    """The others take its partitions when its session has ended, and not before it was dead."""
    group = new_group(consumer_session_timeout_ms=3000)
    others = [group.join(other) for other in KINDS if other != kind]
    victim = group.join_process(kind)
    group.wait_settled([*others, victim])
    victim.kill()
    group.wait_settled(others)
    group.assert_never_shared()


@each_kind
def test_a_static_member_replaced_by_one_of_ours(group: PeerGroup, kind: PeerKind) -> None:
    """With the policy "takeover" it gets the very partitions, long before the session ends; others and epoch stay."""
    others = [group.join(other, f"static-{other}") for other in KINDS if other != kind]
    victim = group.join_process(kind, f"static-{kind}")
    group.wait_settled([*others, victim])
    epoch, share, changes = group.epoch, victim.history.owned, [len(other.history.changes) for other in others]
    victim.kill()
    replacement = group.join("ours", f"static-{kind}", group_instance_id_conflict="takeover")
    group.wait_settled([*others, replacement])
    assert (group.epoch, replacement.history.owned) == (epoch, share)
    assert [len(other.history.changes) for other in others] == changes
    group.assert_never_shared()
