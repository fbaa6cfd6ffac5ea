"""A second member joins at the broker's default intervals: how long until both have their share?

Once in another process than the first, and once in the same one, where ours know of each other.
When in the first member's heartbeat interval the second one joins decides most of it, so the rounds are spread over the
interval: one at a random moment of each part of it, the same for every kind. At its very end lies an edge: who comes some
milliseconds after the other's heartbeat waits for the next one, and one such round makes the mean of ten half a second longer.
"""

from __future__ import annotations

import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.group import Member, PeerGroup, eventually
from tests.peers.peer import KINDS, PeerKind

_CALM_S = 1.2
"""Within this time after an assignment brokers put off the next one, which is another story."""


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    apart = _seconds(stage, sizes, "second", apart=True)
    together = _seconds(stage, sizes, "sibling", apart=False)
    return [
        _figure("second member joins, all stable", apart, sizes, Limit(0.55, of_confluent=True)),
        _figure("  in the same process", together, sizes, Limit(0.5)),
    ]


def _seconds(stage: Stage, sizes: Sizes, name: str, *, apart: bool) -> list[float]:
    """Of all rounds, kind by kind in turn."""
    # All groups first: a member that joins before the coordinator knows the topic is still expecting more when the other
    # comes, and heartbeats more often than a settled one.
    tasks = [
        (stage.group(f"{name}-{kind}", **sizes.group_settings), kind, phase_s)
        for phase_s in _phases(sizes)
        for kind in KINDS
    ]
    with ThreadPoolExecutor(2 * len(KINDS)) as pool:
        return list(pool.map(lambda task: _one_round(stage, sizes, *task, apart=apart), tasks))


def _figure(name: str, seconds: list[float], sizes: Sizes, limit: Limit) -> Figure:
    values = {kind: statistics.fmean(seconds[at :: len(KINDS)]) for at, kind in enumerate(KINDS)}
    ours = seconds[KINDS.index("ours") :: len(KINDS)]
    how = f"mean of {sizes.rounds}, spread over the heartbeat interval; ours {min(ours):.1f} to {max(ours):.1f}"
    return Figure(name=name, unit="s", values=values, how=how, limit=limit)


def _phases(sizes: Sizes) -> list[float]:
    return [(part + random.random()) / sizes.rounds * sizes.interval_s for part in range(sizes.rounds)]


def _one_round(stage: Stage, sizes: Sizes, group: PeerGroup, kind: PeerKind, phase_s: float, *, apart: bool) -> float:
    try:
        # Java's consumers share a process always, and do not know of each other.
        first = group.join_process(kind) if apart and kind != "java" else group.join(kind)
        seconds = _join_second(group, kind, first, phase_s if phase_s > _CALM_S else phase_s + sizes.interval_s)
    finally:
        group.close()
    stage.say(f"second {kind} member, {phase_s:.3f} s after the first one's heartbeat: {seconds:.2f} s")
    return seconds


def _join_second(group: PeerGroup, kind: PeerKind, first: Member, after_s: float) -> float:
    eventually(lambda: len(first.history.owned) == 6, lambda: f"the first {kind} member owns all")
    time.sleep(after_s)
    began_at = time.monotonic()
    second = group.join(kind)
    eventually(lambda: len(second.history.owned) == len(first.history.owned) == 3, lambda: f"{kind} members share")
    return max(peer.history.changes[-1].at for peer in (first, second)) - began_at
