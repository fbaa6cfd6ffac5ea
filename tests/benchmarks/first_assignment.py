"""From the construction of a client to its first partitions, in a process (and a JVM) that has done it before."""

from __future__ import annotations

import statistics
import time

from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.group import PeerGroup, eventually
from tests.peers.peer import KINDS, PeerKind


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    rounds = sizes.rounds + sizes.warm_ups
    # All groups first: a coordinator learns of a new topic a little later than those who ask for it.
    groups = [{kind: stage.group(f"first-{kind}") for kind in KINDS} for _ in range(rounds)]
    taken: dict[PeerKind, list[float]] = {kind: [] for kind in KINDS}
    for number, by_kind in enumerate(groups):
        stage.say(f"first assignment, round {number + 1} of {rounds}")
        for kind, group in by_kind.items():
            taken[kind].append(_start_to_assignment(group, kind))
    values = {kind: statistics.median(seconds[sizes.warm_ups :]) for kind, seconds in taken.items()}
    how = f"median of {sizes.rounds}"
    limit = Limit(0.5, of_confluent=True)
    return [Figure(name="start to first assignment", unit="s", values=values, how=how, limit=limit)]


def _start_to_assignment(group: PeerGroup, kind: PeerKind) -> float:
    began_at = time.monotonic()
    peer = group.join(kind)
    eventually(lambda: bool(peer.history.owned), lambda: f"a first assignment of {kind}, not {peer.error}")
    group.close()
    return next(change.at for change in peer.history.changes if change.partitions) - began_at
