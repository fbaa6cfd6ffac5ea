"""Static members are restarted one after the other, as in every deployment."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.group import PeerGroup, eventually
from tests.peers.history import unowned_s
from tests.peers.peer import KINDS, Peer, PeerKind

_PARTITIONS_PER_MEMBER = 3


class _Outcome(NamedTuple):
    epochs: int
    unowned_s: float


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    with ThreadPoolExecutor(len(KINDS)) as pool:
        formed = dict(zip(KINDS, pool.map(lambda kind: _form(stage, sizes, kind), KINDS), strict=True))
    outcomes: dict[PeerKind, _Outcome] = {}
    for kind, (group, peers) in formed.items():
        stage.say(f"rolling restart of {len(peers)} static {kind} members")
        outcomes[kind] = _restart_all(group, kind, peers)
        group.close()
    return [
        Figure(
            name=f"rolling restart of {sizes.static_members} static members",
            unit="epochs",
            values={kind: outcome.epochs for kind, outcome in outcomes.items()},
            how="group epochs burnt",
            limit=Limit(0),
        ),
        Figure(
            name="  partitions without an owner",
            unit="partition-s",
            values={kind: outcome.unowned_s for kind, outcome in outcomes.items()},
            how=f"{_PARTITIONS_PER_MEMBER} partitions each",
            limit=Limit(1, of_confluent=True),
        ),
    ]


def _form(stage: Stage, sizes: Sizes, kind: PeerKind) -> tuple[PeerGroup, list[Peer]]:
    group = stage.group(f"rolling-{kind}", _PARTITIONS_PER_MEMBER * sizes.static_members, **sizes.group_settings)
    peers = [group.join(kind, f"static-{number}") for number in range(sizes.static_members)]
    group.wait_settled(peers)
    stage.say(f"{len(peers)} static {kind} members are settled")
    return group, peers


def _restart_all(group: PeerGroup, kind: PeerKind, peers: list[Peer]) -> _Outcome:
    epoch, began_at = group.epoch, time.monotonic()
    for number, peer in enumerate(peers):
        peers[number] = _restart(group, kind, peer)
    group.wait_settled(peers)
    return _Outcome(group.epoch - epoch, unowned_s((member.history for member in group.members), began_at))


def _restart(group: PeerGroup, kind: PeerKind, peer: Peer) -> Peer:
    """Returns its next incarnation, which owns what it owned."""
    share = peer.history.owned
    peer.leave()
    successor = group.join(kind, peer.seat.instance_id)
    eventually(lambda: successor.history.owned == share, lambda: f"{kind} member {peer.seat.instance_id} is back")
    return successor
