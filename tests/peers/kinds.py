"""A peer of any kind."""

from __future__ import annotations

from tests.peers.confluent import ConfluentPeer
from tests.peers.java import JavaPeer
from tests.peers.jvm import PeerJvm
from tests.peers.ours import OurPeer
from tests.peers.peer import Peer, PeerKind, Seat


def new_peer(kind: PeerKind, seat: Seat, jvm: PeerJvm | None) -> Peer:
    """That has not joined yet. Only the Java consumer needs the JVM."""
    if kind == "ours":
        return OurPeer(seat)
    if kind == "confluent":
        return ConfluentPeer(seat)
    assert jvm is not None
    return JavaPeer(seat, jvm)
