"""A member of each kind is killed, and nobody says goodbye for it."""

from __future__ import annotations

import pytest

from tests.peers.conftest import GroupFactory
from tests.peers.group import PeerGroup
from tests.peers.peer import KINDS, PeerKind

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

each_kind = pytest.mark.parametrize("kind", KINDS)


def test_dynamic_members(new_group: GroupFactory) -> None:
    """One of each kind is killed: the others take over when the sessions have ended, and nothing before it was free."""
    group = new_group(consumer_session_timeout_ms=15_000)
    survivors = [group.join(kind) for kind in KINDS]
    victims = [group.join_process(kind) for kind in KINDS]
    group.wait_settled([*survivors, *victims])
    for victim in victims:
        victim.kill()
    group.wait_settled(survivors)
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
