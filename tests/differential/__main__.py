"""`python -m tests.differential --programs 500`: random programs on both libraries, and in what they differ."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from membership_client.testing import KafkaCluster
from tests.differential.both import play_both
from tests.differential.play import World


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--programs", type=int, default=500, help="how many (500)")
    parser.add_argument("--seed", type=int, default=0, help="of the first one (0)")
    parser.add_argument("--at-once", type=int, default=3, help="how many are played at the same time (3)")
    parser.add_argument("--bootstrap", help="a running broker, instead of one of its own")
    given = parser.parse_args()
    if given.bootstrap:
        return _play_all(given, given.bootstrap)
    with KafkaCluster() as cluster:
        return _play_all(given, cluster.bootstrap_servers)


def _play_all(given: Any, bootstrap_servers: str) -> int:
    world, began_at = World(bootstrap_servers), time.monotonic()
    seeds = range(given.seed, given.seed + given.programs)
    differing = Counter[str]()
    with ThreadPoolExecutor(given.at_once) as pool:
        for number, mismatches in enumerate(pool.map(lambda seed: play_both(seed, world), seeds), 1):
            for mismatch in mismatches:
                differing[mismatch.call] += 1
                _say(str(mismatch))
            if number % 20 == 0 or number == given.programs:
                _say(f"{number} programs in {time.monotonic() - began_at:.0f} s, {differing.total()} mismatches")
    if differing:
        _say(f"first differed in: {', '.join(f'{call} ({count})' for call, count in differing.most_common())}")
    return 1 if differing else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
