"""Our member, confluent-kafka's and Kafka's own in one group: they come and go in every order."""

from __future__ import annotations

import itertools

import pytest

from tests.peers.group import PeerGroup
from tests.peers.peer import KINDS, Peer, PeerKind

pytestmark = pytest.mark.kafka

ORDERS = tuple(itertools.permutations(KINDS))
# Every order of joining once, and every order of leaving once.
TURNS = tuple(zip(ORDERS, ORDERS[2:] + ORDERS[:2], strict=True))

each_order = pytest.mark.parametrize(("joining", "leaving"), TURNS, ids="-".join)


@each_order
def test_dynamic_members(group: PeerGroup, joining: tuple[PeerKind, ...], leaving: tuple[PeerKind, ...]) -> None:
    """After every join and every leave the group is settled, with even shares, and no partition ever had two owners."""
    peers: dict[PeerKind, Peer] = {}
    for kind in joining:
        peers[kind] = group.join(kind)
        settle_evenly(group, peers)
    for kind in leaving:
        peers.pop(kind).leave()
        settle_evenly(group, peers)
    group.assert_never_shared()


@each_order
def test_static_members(group: PeerGroup, joining: tuple[PeerKind, ...], leaving: tuple[PeerKind, ...]) -> None:
    """Each restarts in its turn and finds its partitions as it left them: the others notice nothing, nor does the epoch."""
    peers: dict[PeerKind, Peer] = {}
    for kind in joining:
        peers[kind] = group.join(kind, f"static-{kind}")
        settle_evenly(group, peers)
    epoch, shares = group.epoch, shares_of(peers)
    for kind in leaving:
        peers[kind].leave()
        peers[kind] = group.join(kind, f"static-{kind}")
        group.wait_settled(peers.values())
        assert (group.epoch, shares_of(peers)) == (epoch, shares)
    group.assert_never_shared()


def settle_evenly(group: PeerGroup, peers: dict[PeerKind, Peer]) -> None:
    group.wait_settled(peers.values())
    sizes = {len(share) for share in shares_of(peers).values()}
    assert sizes <= {6 // max(1, len(peers))}


def shares_of(peers: dict[PeerKind, Peer]) -> dict[PeerKind, frozenset[object]]:
    return {kind: peer.history.owned for kind, peer in peers.items()}
