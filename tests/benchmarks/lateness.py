"""How late heartbeats are sent while the main thread keeps the interpreter busy."""

from __future__ import annotations

import gc
import statistics
import time

from membership_client.core.events import Heartbeat, Send
from membership_client.core.machine import Step
from membership_client.runtime.worker import Observer
from membership_client.types import MemberState
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.group import eventually
from tests.peers.ours import OurPeer

_INTERVAL_MS = 100
_MEMBERS = 4


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    late_s: list[float] = []
    # What earlier measurements left behind is much to collect, and is not what heartbeats wait for in an application.
    gc.collect()
    gc.freeze()
    group = stage.group("lateness", consumer_heartbeat_interval_ms=_INTERVAL_MS)
    peers = [OurPeer(group.seat(), (_recorder(late_s),)) for _ in range(_MEMBERS)]
    group.members.extend(peers)
    for peer in peers:
        peer.join()
    eventually(lambda: all(peer.history.owned for peer in peers), lambda: "all members own something")
    stage.say(f"watching {sizes.beats} heartbeats while the main thread burns CPU")
    late_s.clear()
    while len(late_s) < sizes.beats:
        _burn()
    group.close()
    gc.unfreeze()
    p99 = statistics.quantiles(late_s, n=100, method="inclusive")[98]
    how = f"p99 of {len(late_s)}; median {1000 * statistics.median(late_s):.1f} ms, worst {1000 * max(late_s):.1f} ms"
    return [
        Figure(
            name="heartbeat lateness, main thread busy",
            unit="ms",
            values={"ours": 1000 * p99},
            how=how,
            limit=Limit(50),
        )
    ]


def _recorder(late_s: list[float]) -> Observer:
    """An observer: from the moment a heartbeat was due to when it had been handed to the system."""

    def record(step: Step) -> None:
        beats = any(isinstance(effect, Send) and isinstance(effect.request, Heartbeat) for effect in step.effects)
        if beats and step.before.state is MemberState.STABLE:
            late_s.append(time.monotonic() - step.before.heartbeat_due)

    return record


def _burn() -> None:
    """Pure Python, for some milliseconds."""
    total = 0
    for number in range(100_000):
        total += number * number
