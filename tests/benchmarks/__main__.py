"""Ours, confluent-kafka and Kafka's Java consumer on one broker, side by side: `python -m tests.benchmarks`."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from membership_client.testing import KafkaCluster
from tests.benchmarks.catalogue import MEASUREMENTS, run
from tests.benchmarks.report import as_json, table
from tests.benchmarks.stage import FULL, TRIAL, Stage
from tests.peers.jvm import PeerJvm


def main() -> int:
    """0 if every promise was kept, 1 if not."""
    arguments = parse()
    # Members that are killed and thrown out are part of the programme.
    logging.getLogger("membership_client").setLevel(logging.CRITICAL)
    # A thousand members are more than a test broker's heap is made for, and a consumer's JVM should compile as it would.
    with KafkaCluster(jvm_options=["-Xmx1g"]) as cluster, PeerJvm(["-XX:TieredStopAtLevel=4"]) as jvm:
        stage = Stage(cluster.bootstrap_servers, jvm)
        figures = run(stage, TRIAL if arguments.trial else FULL, arguments.only or MEASUREMENTS)
    print(table(figures))  # noqa: T201 - the table is what it is for
    if arguments.json:
        arguments.json.write_text(as_json(figures))
    return int(any(figure.met is False for figure in figures))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=MEASUREMENTS, help="may be repeated; without it, all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--trial", action="store_true", help="tiny sizes: whether it works, not how fast")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
