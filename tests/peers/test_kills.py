"""A member of each kind is killed, and nobody says goodbye for it."""

from __future__ import annotations

import pytest

from tests.peers.classic import EITHER_PROTOCOL, SHARED, classic_settings, kinds_with, settings_with, wait_shared
from tests.peers.conftest import GroupFactory
from tests.peers.group import Member, PeerGroup
from tests.peers.peer import KINDS, PeerKind

pytestmark = pytest.mark.kafka

SESSION_MS = 15_000

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.parametrize("strategy", EITHER_PROTOCOL)
@pytest.mark.timeout(300)
def test_dynamic_members(new_group: GroupFactory, strategy: str | None) -> None:
    """One of each kind is killed: the others take over when the sessions have ended, and nothing before it was free."""
    group = new_group(consumer_session_timeout_ms=SESSION_MS)
    settings = {kind: settings_with(kind, strategy, session_ms=SESSION_MS) for kind in kinds_with(strategy)}
    survivors = [group.join(kind, **settings[kind]) for kind in settings]
    victims = [group.join_process(kind, **settings[kind]) for kind in settings]
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


@pytest.mark.parametrize(("strategy", "kind"), [(strategy, kind) for strategy in SHARED for kind in SHARED[strategy]])
def test_a_classic_static_member_replaced_by_one_of_ours(group: PeerGroup, strategy: str, kind: PeerKind) -> None:
    """There every newcomer wins: it gets the very partitions at once, whoever led, and the others do not notice."""
    settings = {each: classic_settings(each, strategy) for each in SHARED[strategy]}
    others: list[Member] = [
        group.join(other, f"static-{other}", **settings[other]) for other in settings if other != kind
    ]
    victim = group.join_process(kind, f"static-{kind}", **settings[kind])
    wait_shared(group, [*others, victim])
    share, changes = victim.history.owned, [len(other.history.changes) for other in others]
    victim.kill()
    replacement = group.join("ours", f"static-{kind}", **settings["ours"])
    wait_shared(group, [*others, replacement])
    assert replacement.history.owned == share
    assert [len(other.history.changes) for other in others] == changes
    group.assert_never_shared()
