"""A fleet of all clients, static and dynamic, moves from the classic protocol to KIP-848 and back by rolling restarts."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable

import pytest

from membership_client.testing import EmbeddedKafka
from tests.peers.classic import settings_with
from tests.peers.group import PeerGroup
from tests.peers.history import gaps
from tests.peers.jvm import PeerJvm
from tests.peers.peer import Peer, PeerKind

pytestmark = pytest.mark.kafka

# librdkafka has no way to free an instance id, and a broker gives one that a classic member holds to no other protocol.
FLEET: tuple[tuple[PeerKind, str | None], ...] = (
    ("java", "static-java"),
    ("ours", None),
    ("confluent", None),
    ("ours", "static-ours"),
    ("java", None),
)


class Rebalances:
    """Steps of a fleet, each begun when the one before was settled."""

    def __init__(self, group: PeerGroup) -> None:
        self._group = group
        self._spans: list[tuple[float, float]] = []

    def play(self, step: Callable[[], list[Peer]]) -> None:
        """The step, and what follows until those who are present after it have settled."""
        began = time.monotonic()
        self._group.wait_settled(step())
        self._spans.append((began, time.monotonic()))

    def assert_none_outlasted(self) -> None:
        """Nothing was without an owner for longer than the rebalance in which it was given up."""
        for gap in gaps(member.history for member in self._group.members):
            within = any(began <= gap.start and gap.end <= ended for began, ended in self._spans)
            assert within or gap.start > self._spans[-1][1], f"free for longer than one rebalance: {gap}"


@pytest.mark.parametrize("pauses", [False, True], ids=["restarts", "leaves-and-joins"])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.timeout(600)
def test_a_fleet_moves_to_kip_848_and_back(group: PeerGroup, strategy: str, pauses: bool) -> None:
    """One restart at a time: nothing is ever owned twice, and nothing is free for longer than a rebalance.

    A restart is two of them, which may overlap; with pauses each is seen by itself.
    """
    move(group, strategy, pauses=pauses)


@pytest.mark.timeout(600)
def test_a_fleet_moves_on_an_embedded_broker(peer_jvm: PeerJvm) -> None:
    """Java's, librdkafka's and our members take it for Kafka in the middle of a migration, too."""
    settings = {"group.consumer.heartbeat.interval.ms": 100, "group.consumer.assignment.interval.ms": 0}
    with EmbeddedKafka(settings=settings) as embedded:
        group = PeerGroup(embedded.bootstrap_servers, peer_jvm, "embedded")
        with contextlib.closing(group):
            move(group, "cooperative-sticky", pauses=False)


def move(group: PeerGroup, strategy: str, *, pauses: bool) -> None:
    fleet: list[Peer] = []
    rebalances = Rebalances(group)
    for kind, name in FLEET:
        enter(rebalances, fleet, functools.partial(group.join, kind, name, **settings_with(kind, strategy)))
    for spoken in (None, strategy):
        # The leader comes last: where librdkafka leads by the cooperative strategy it writes user data into shares, and a
        # broker moves no such group to KIP-848.
        for at, (kind, name) in reversed(list(enumerate(FLEET))):
            join = functools.partial(group.join, kind, name, **settings_with(kind, spoken))
            restart(rebalances, fleet, at, join, pauses=pauses)
    group.assert_never_shared()
    rebalances.assert_none_outlasted()


def enter(rebalances: Rebalances, fleet: list[Peer], join: Callable[[], Peer]) -> None:
    def come() -> list[Peer]:
        fleet.append(join())
        return fleet

    rebalances.play(come)


def restart(rebalances: Rebalances, fleet: list[Peer], at: int, join: Callable[[], Peer], *, pauses: bool) -> None:
    """The one in that place goes, and another comes to take it."""

    def go() -> list[Peer]:
        fleet[at].leave_for_good()
        return fleet[:at] + fleet[at + 1 :]

    def come() -> list[Peer]:
        fleet[at].leave_for_good()
        fleet[at] = join()
        return fleet

    if pauses:
        rebalances.play(go)
    rebalances.play(come)
