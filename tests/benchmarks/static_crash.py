"""A static member is killed with SIGKILL: how long until its replacement owns what it owned?

The replacement starts in a process that already runs, as the start of an interpreter is not what is compared. A client
that is refused, because the dead member still holds the instance id, is started again by a supervisor.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.group import PeerGroup, eventually
from tests.peers.peer import KINDS, Peer, PeerKind

_SUPERVISOR_PAUSE_S = 0.5
_POLICY = {"ours": {"group_instance_id_conflict": "takeover"}}


class _Outcome(NamedTuple):
    seconds: float
    epochs: int
    moved: int


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    with ThreadPoolExecutor(len(KINDS)) as pool:
        outcomes = dict(zip(KINDS, pool.map(lambda kind: _crash(stage, sizes, kind), KINDS), strict=True))
    how = "until it has as many partitions as before"
    return [
        Figure(
            name="static member killed, replaced",
            unit="s",
            values={kind: outcome.seconds for kind, outcome in outcomes.items()},
            how=how,
            limit=Limit(0.1, of_confluent=True),
        ),
        Figure(
            name="  group epochs it took",
            unit="epochs",
            values={kind: outcome.epochs for kind, outcome in outcomes.items()},
            how="",
            limit=Limit(0),
        ),
        Figure(
            name="  partitions that are not the same",
            unit="partitions",
            values={kind: outcome.moved for kind, outcome in outcomes.items()},
            how="of 3",
            limit=Limit(0),
        ),
    ]


def _crash(stage: Stage, sizes: Sizes, kind: PeerKind) -> _Outcome:
    group = stage.group(f"crash-{kind}", **sizes.crash_settings)
    try:
        bystander, victim = group.join(kind, "bystander"), group.join_process(kind, "victim")
        group.wait_settled([bystander, victim])
        epoch, share = group.epoch, victim.history.owned
        stage.say(f"static {kind} member is killed")
        killed_at = victim.kill()
        replacement = _replace(group, kind, len(share))
        seconds = replacement.history.changes[-1].at - killed_at
        stage.say(f"static {kind} member was replaced after {seconds:.2f} s")
        return _Outcome(seconds, group.epoch - epoch, len(share - replacement.history.owned))
    finally:
        group.close()


def _replace(group: PeerGroup, kind: PeerKind, partitions: int) -> Peer:
    """Starts members until one owns that many partitions."""
    while not _owns(peer := group.join(kind, "victim", **_POLICY.get(kind, {})), partitions):
        peer.leave()
        time.sleep(_SUPERVISOR_PAUSE_S)
    return peer


def _owns(peer: Peer, partitions: int) -> bool:
    """Waits until it owns that many partitions, which is true, or has failed."""
    eventually(lambda: len(peer.history.owned) == partitions or peer.error is not None, lambda: "a replacement")
    return peer.error is None
