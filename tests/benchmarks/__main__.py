"""Ours, confluent-kafka and Kafka's Java consumer on one broker, side by side: `python -m tests.benchmarks`."""

from __future__ import annotations

import logging
import sys

from membership_client.testing import KafkaCluster
from tests.benchmarks.catalogue import MEASUREMENTS, run
from tests.benchmarks.command import parse, tell
from tests.benchmarks.stage import FULL, TRIAL, Stage
from tests.peers.jvm import PeerJvm


def main() -> int:
    """0 if every promise was kept, 1 if not."""
    arguments = parse("tests.benchmarks", __doc__, MEASUREMENTS)
    # Members that are killed and thrown out are part of the programme.
    logging.getLogger("membership_client").setLevel(logging.CRITICAL)
    # A thousand members are more than a test broker's heap is made for, and a consumer's JVM should compile as it would.
    with KafkaCluster(jvm_options=["-Xmx1g"]) as cluster, PeerJvm(["-XX:TieredStopAtLevel=4"]) as jvm:
        stage = Stage(cluster.bootstrap_servers, jvm)
        figures = run(stage, TRIAL if arguments.trial else FULL, arguments.only or MEASUREMENTS)
    return tell(figures, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
