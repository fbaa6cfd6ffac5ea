"""Many members of one process join one group at once: how long until each has its partition, and with how many heartbeats?"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from membership_client.core.events import Heartbeat, Send
from membership_client.core.machine import Step
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.group import PeerGroup, eventually
from tests.peers.ours import OurPeer
from tests.peers.peer import Peer, PeerKind

_KINDS: tuple[PeerKind, ...] = ("ours", "confluent")
_LOOK_S = 0.05


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    found = {kind: _one_kind(stage, sizes, kind) for kind in _KINDS}
    seconds = {kind: seconds for kind, (seconds, _) in found.items()}
    sent = found["ours"][1]
    name = f"{sizes.siblings} members of one process join at once"
    return [
        Figure(name=name, unit="s", values=seconds, how="until each owns its partition", limit=Limit(5)),
        Figure(
            name="  heartbeats that took",
            unit="per member",
            values={"ours": sent / sizes.siblings},
            how=f"{sent} in all, joins and acknowledgements included",
            limit=Limit(30),
        ),
    ]


def _one_kind(stage: Stage, sizes: Sizes, kind: PeerKind) -> tuple[float, int]:
    """How long it took, and the heartbeats that ours had sent by then."""
    heartbeats: list[Heartbeat] = []
    group = stage.group(f"siblings-{kind}", partitions=sizes.siblings, **sizes.group_settings)
    try:
        seconds = _join_all(group, [_new(group, kind, heartbeats) for _ in range(sizes.siblings)])
        sent = len(heartbeats)
    finally:
        _leave_all(group)
    stage.say(f"{sizes.siblings} {kind} members of one process: {seconds:.2f} s")
    return seconds, sent


def _new(group: PeerGroup, kind: PeerKind, heartbeats: list[Heartbeat]) -> Peer:
    if kind != "ours":
        return group.new(kind)

    def count(step: Step) -> None:
        sends = (effect.request for effect in step.effects if isinstance(effect, Send))
        heartbeats.extend(request for request in sends if isinstance(request, Heartbeat))

    peer = OurPeer(group.seat(), observers=(count,))
    group.members.append(peer)
    return peer


def _join_all(group: PeerGroup, peers: list[Peer]) -> float:
    def shared() -> bool:
        time.sleep(_LOOK_S)
        return all(len(peer.history.owned) == 1 for peer in peers)

    began_at = time.monotonic()
    for peer in peers:
        peer.join()
    eventually(shared, lambda: f"each member of {group.id} owns a partition")
    return max(peer.history.changes[-1].at for peer in peers) - began_at


def _leave_all(group: PeerGroup) -> None:
    """All at once: one by one, each leave would be a rebalance of the rest."""
    with ThreadPoolExecutor(max(1, len(group.members))) as pool:
        list(pool.map(lambda member: member.leave(), group.members))
    group.close()
