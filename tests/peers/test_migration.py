"""A fleet of all clients, static and dynamic, moves from the classic protocol to KIP-848 and back by rolling restarts."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.peers.classic import classic_settings
from tests.peers.group import PeerGroup
from tests.peers.history import gaps
from tests.peers.peer import Peer, PeerKind

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

# librdkafka has no way to free an instance id, and a broker gives one that a classic member holds to no other protocol.
FLEET: tuple[tuple[PeerKind, str | None], ...] = (
    ("java", "static-java"),
    ("ours", None),
    ("confluent", None),
    ("ours", "static-ours"),
    ("java", None),
)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.timeout(600)
def test_a_fleet_moves_to_kip_848_and_back(group: PeerGroup, strategy: str) -> None:
    """One restart at a time: nothing is ever owned twice, and nothing stays without an owner beyond the restart that freed it."""
    fleet: list[Peer] = []
    for kind, name in FLEET:
        fleet.append(group.join(kind, name, **settings_of(kind, "classic", strategy)))
        group.wait_settled(fleet)
    restarts: list[tuple[float, float]] = []
    for protocol in ("consumer", "classic"):
        for at, (kind, name) in enumerate(FLEET):
            began = time.monotonic()
            fleet[at].leave_for_good()
            fleet[at] = group.join(kind, name, **settings_of(kind, protocol, strategy))
            group.wait_settled(fleet)
            restarts.append((began, time.monotonic()))
    group.assert_never_shared()
    joined, last = restarts[0][0], restarts[-1][1]
    for gap in gaps(member.history for member in group.members):
        within = any(began <= gap.start and gap.end <= ended for began, ended in restarts)
        assert within or not joined <= gap.start <= last, f"free for longer than one restart: {gap}"


def settings_of(kind: PeerKind, protocol: str, strategy: str) -> dict[str, Any]:
    if protocol == "classic":
        return classic_settings(kind, strategy)
    return {"group_protocol": "consumer"} if kind == "ours" else {}
