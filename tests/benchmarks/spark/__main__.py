"""Spark's slots and epochs against plain confluent-kafka on the same Spark: `python -m tests.benchmarks.spark`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
from pathlib import Path

from membership_client.testing import KafkaCluster
from tests.benchmarks.command import parse, tell
from tests.benchmarks.figures import Figure
from tests.benchmarks.spark import reading, recovery, source
from tests.benchmarks.spark.setting import Setting
from tests.spark.clusters import sessions
from tests.spark.clusters.environment import environment
from tests.spark.clusters.jars import extra_jars

_LIMITS = {
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.max.session.timeout.ms": 600_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
}
"""Wide enough for the sessions of a trial."""

MEASUREMENTS = {"reading": reading.measure, "recovery": recovery.measure, "source": source.measure}


def main() -> int:
    """0 if every promise was kept, 1 if not."""
    arguments = parse("tests.benchmarks.spark", __doc__, MEASUREMENTS)
    logging.getLogger("membership_client").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as place, KafkaCluster(settings=_LIMITS) as kafka:
        os.environ |= environment(Path(place))
        figures = run(arguments, kafka.bootstrap_servers, Path(place))
    return tell(figures, arguments.json)


def run(arguments: argparse.Namespace, bootstrap_servers: str, directory: Path) -> list[Figure]:
    from pyspark.sql import SparkSession

    wanted = sessions.local_cluster({"spark.task.maxFailures": "1000", "spark.jars": extra_jars()})
    spark = SparkSession.builder.master(wanted.master).config(map=dict(wanted.properties)).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        setting = Setting(
            spark=spark,
            bootstrap_servers=bootstrap_servers,
            directory=directory,
            records=20_000 if arguments.trial else 2_000_000,
            rounds=1 if arguments.trial else 7,
            is_trial=arguments.trial,
        )
        return [figure for name in arguments.only or MEASUREMENTS for figure in MEASUREMENTS[name](setting)]
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
