"""CPU and memory of members that have nothing to do, each in a group of its own, in one process per kind of client."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.peers.peer import KINDS, PeerKind

_ROOT = Path(__file__).parents[2]


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    stage.say(f"1 + {sizes.idle_members} idle members of each kind, watched for {sizes.idle_s:g} s")
    group = stage.group("idle", partitions=1)
    with ThreadPoolExecutor(len(KINDS)) as pool:
        tasks = [_task(stage, sizes, group.id, kind) for kind in KINDS]
        found = dict(zip(KINDS, pool.map(_run, tasks), strict=True))
    how = f"of {sizes.idle_members}, over {sizes.idle_s:g} s, at the default interval, nothing fetched"
    return [
        Figure(
            name="CPU per idle member",
            unit="% of a core",
            values={kind: 100 * usage["cpu_s"] / sizes.idle_s / sizes.idle_members for kind, usage in found.items()},
            how=how,
            limit=Limit(0.1),
        ),
        Figure(
            name="memory per idle member",
            unit="kB",
            values={kind: usage["bytes"] / 1024 / sizes.idle_members for kind, usage in found.items()},
            how="resident, beyond the first member",
            limit=Limit(300),
        ),
    ]


def _task(stage: Stage, sizes: Sizes, topic: str, kind: PeerKind) -> dict[str, object]:
    return {
        "kind": kind,
        "bootstrap_servers": stage.bootstrap_servers,
        "topic": topic,
        "members": sizes.idle_members,
        "seconds": sizes.idle_s,
        "settle_s": sizes.interval_s,
    }


def _run(task: dict[str, object]) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.idle_process", json.dumps(task)]
    found: dict[str, float] = json.loads(subprocess.run(command, cwd=_ROOT, check=True, capture_output=True).stdout)
    return found
