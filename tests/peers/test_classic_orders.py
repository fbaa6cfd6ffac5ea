"""Our member in classic groups of confluent-kafka's and Kafka's own, under each assignor that they share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from membership_client import TopicPartition
from tests.peers.classic import SHARED, classic_settings
from tests.peers.group import Member, PeerGroup, eventually
from tests.peers.peer import PeerKind

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

ORDERS = [
    (strategy, order) for strategy, kinds in SHARED.items() for order in itertools.permutations(kinds) if len(kinds) > 2
]
PAIRS = [
    (strategy, order)
    for strategy, kinds in SHARED.items()
    for other in kinds[1:]
    for order in sorted(set(itertools.permutations(("ours", "ours", other, other))))
]


def name_of(part: str | tuple[PeerKind, ...]) -> str:
    return part if isinstance(part, str) else "-".join(part)


def wait_shared(group: PeerGroup, members: Iterable[Member]) -> None:
    """Until these members, by their own account, hold every partition once, and each of them holds one."""
    present = list(members)

    def held() -> list[TopicPartition]:
        return sorted(partition for member in present for partition in member.history.owned)

    def account() -> str:
        return f"every partition held once: {[(m.member_id, sorted(m.history.owned), m.error) for m in present]}"

    eventually(lambda: held() == sorted(group.partitions) and all(m.history.owned for m in present), account)


@pytest.mark.parametrize(("strategy", "order"), PAIRS, ids=name_of)
def test_two_of_ours_and_two_of_another_client(group: PeerGroup, strategy: str, order: tuple[PeerKind, ...]) -> None:
    """In every order of joining, and whoever leads: after each join every partition is owned once."""
    members: list[Member] = []
    for kind in order:
        members.append(group.join(kind, **classic_settings(kind, strategy)))
        wait_shared(group, members)
    group.assert_never_shared()


@pytest.mark.parametrize(("strategy", "order"), ORDERS, ids=name_of)
def test_two_of_each_client_in_every_order(group: PeerGroup, strategy: str, order: tuple[PeerKind, ...]) -> None:
    """Whoever comes first leads and assigns for all: every partition is owned once, and never by two at a time."""
    members: list[Member] = []
    for kind in (*order, *order):
        members.append(group.join(kind, **classic_settings(kind, strategy)))
        if len(members) == 1:
            wait_shared(group, members)
    wait_shared(group, members)
    # The leader goes first, and another client's member must take over.
    for _ in order:
        members.pop(0).leave()
    wait_shared(group, members)
    group.assert_never_shared()


@pytest.mark.parametrize("strategy", SHARED)
def test_a_static_member_restarts_among_others(group: PeerGroup, strategy: str) -> None:
    """It finds its partitions as it left them, and no other client of the group notices, whether or not it led the group."""
    kinds = SHARED[strategy]
    members = {kind: group.join(kind, f"i-{kind}", **classic_settings(kind, strategy)) for kind in kinds}
    wait_shared(group, members.values())
    shares = {kind: member.history.owned for kind, member in members.items()}
    noticed = {kind: len(member.history.changes) for kind, member in members.items() if kind != "ours"}
    for _ in range(2):
        members["ours"].leave()
        members["ours"] = group.join("ours", "i-ours", **classic_settings("ours", strategy))
        wait_shared(group, members.values())
        assert {kind: member.history.owned for kind, member in members.items()} == shares
    assert {kind: len(member.history.changes) for kind, member in members.items() if kind != "ours"} == noticed
