"""Our member in classic groups of confluent-kafka's and Kafka's own, under each assignor that they share."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

import pytest

from membership_client.testing import KafkaCluster
from tests.peers.classic import SHARED, classic_settings, wait_shared
from tests.peers.group import Member, PeerGroup
from tests.peers.jvm import PeerJvm
from tests.peers.orders import Order, orders_of, play_each, some_of
from tests.peers.peer import PeerKind

Stage = Callable[[], contextlib.closing[PeerGroup]]

pytestmark = pytest.mark.kafka

OF_ALL = [strategy for strategy, kinds in SHARED.items() if len(kinds) > 2]
PAIRS = [(strategy, other) for strategy, kinds in SHARED.items() for other in kinds[1:]]


@pytest.fixture
def stage(kafka: KafkaCluster, peer_jvm: PeerJvm) -> Stage:
    """For a `with` statement, at whose end its members have left."""
    return lambda: contextlib.closing(PeerGroup(kafka.bootstrap_servers, peer_jvm, "orders"))


@pytest.mark.parametrize("strategy", OF_ALL)
@pytest.mark.timeout(1800)
def test_two_of_each_client_come_and_go(stage: Stage, strategy: str, request: pytest.FixtureRequest) -> None:
    """In whatever order they join, and when they leave in the opposite one: every partition is owned once after every step.

    A sample, unless asked for more: `--orders all`. It is the same in every run, so that one that fails for the first time
    fails because of what was changed.
    """
    orders = orders_of(SHARED[strategy])
    play_each(
        some_of(orders, request.config.getoption("--orders"), seed=strategy),
        lambda order: come_and_go(stage, strategy, order),
    )


@pytest.mark.parametrize(("strategy", "other"), PAIRS)
def test_two_of_ours_and_two_of_another_client(stage: Stage, strategy: str, other: PeerKind) -> None:
    """In every order of joining, and whoever leads: after each join every partition is owned once."""
    play_each(orders_of(("ours", other)), lambda order: come_and_go(stage, strategy, order))


def come_and_go(stage: Stage, strategy: str, order: Order) -> None:
    with stage() as group:
        members: list[Member] = []
        for kind in order:
            members.append(group.join(kind, **classic_settings(kind, strategy)))
            wait_shared(group, members)
        while members:
            members.pop().leave()
            wait_shared(group, members)
        group.assert_never_shared()


@pytest.mark.parametrize("strategy", OF_ALL)
def test_all_join_at_once_and_the_first_leave(stage: Stage, strategy: str) -> None:
    """Whoever comes first leads and assigns for all, and another client's member takes over: no two own the same."""
    play_each(list(itertools.permutations(SHARED[strategy])), lambda order: rush(stage, strategy, order))


def rush(stage: Stage, strategy: str, order: Order) -> None:
    with stage() as group:
        members: list[Member] = []
        for kind in (*order, *order):
            members.append(group.join(kind, **classic_settings(kind, strategy)))
            if len(members) == 1:
                wait_shared(group, members)
        wait_shared(group, members)
        for _ in order:
            members.pop(0).leave()
        wait_shared(group, members)
        group.assert_never_shared()


@pytest.mark.parametrize(("strategy", "leader"), [(strategy, kind) for strategy in SHARED for kind in SHARED[strategy]])
def test_a_static_member_restarts_among_others(group: PeerGroup, strategy: str, leader: PeerKind) -> None:
    """It finds its partitions as it left them, and no other client of the group notices, whoever leads the group."""
    members: dict[PeerKind, Member] = {}
    for kind in sorted(SHARED[strategy], key=lambda kind: kind != leader):
        members[kind] = group.join(kind, f"i-{kind}", **classic_settings(kind, strategy))
        wait_shared(group, members.values())
    shares = {kind: member.history.owned for kind, member in members.items()}
    noticed = moves_of_others(members)
    for _ in range(2):
        members["ours"].leave()
        members["ours"] = group.join("ours", "i-ours", **classic_settings("ours", strategy))
        wait_shared(group, members.values())
        assert {kind: member.history.owned for kind, member in members.items()} == shares
    assert moves_of_others(members) == noticed


def moves_of_others(members: dict[PeerKind, Member]) -> dict[PeerKind, int]:
    """How often each gained or lost partitions; Java's consumer also tells of none, and that may come late."""
    others = {kind: member.history.changes for kind, member in members.items() if kind != "ours"}
    return {kind: sum(bool(change.partitions) for change in changes) for kind, changes in others.items()}
