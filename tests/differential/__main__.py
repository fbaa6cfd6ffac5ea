"""`python -m tests.differential --programs 500`: random programs on both libraries, and in what they differ."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from membership_client.testing import KafkaCluster
from tests.differential.both import play_both
from tests.differential.outage import Outage
from tests.differential.play import World


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=500, help="how many (500)")
    parser.add_argument("--seed", type=int, default=0, help="of the first one (0)")
    parser.add_argument("--at-once", type=int, default=3, help="how many are played at the same time (3)")
    parser.add_argument("--outages", type=int, default=20, help="how many more in which the broker stops (20)")
    parser.add_argument("--bootstrap", help="a running broker, instead of one of its own; it is never stopped")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.programs)
    if given.bootstrap:
        return 1 if _play_all(seeds, World(given.bootstrap), given.at_once) else 0
    with KafkaCluster() as cluster:
        differing = _play_all(seeds, World(cluster.bootstrap_servers), given.at_once)
        seeds = range(given.seed, given.seed + given.outages)
        differing += _play_all(seeds, World(cluster.bootstrap_servers, Outage(cluster)), at_once=1)
    return 1 if differing else 0


def _play_all(seeds: range, world: World, at_once: int) -> int:
    """The number of mismatches."""
    began_at, differing = time.monotonic(), Counter[str]()
    what = "programs" if world.outage is None else "programs in which the broker stops"
    with ThreadPoolExecutor(at_once) as pool:
        for number, mismatches in enumerate(pool.map(lambda seed: play_both(seed, world), seeds), 1):
            for mismatch in mismatches:
                differing[mismatch.call] += 1
                _say(str(mismatch))
            if number % 20 == 0 or number == len(seeds):
                _say(f"{number} {what} in {time.monotonic() - began_at:.0f} s, {differing.total()} mismatches")
    if differing:
        _say(f"first differed in: {', '.join(f'{call} ({count})' for call, count in differing.most_common())}")
    return differing.total()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
