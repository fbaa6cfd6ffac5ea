"""`python -m tests.spark.kills --kills 200 --seed 1 --sink delta`: a campaign of kills, as long as you like.

It starts itself again with the pyspark that Delta Lake is published for.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from membership_client.testing import KafkaCluster
from tests.needs import need
from tests.spark.conftest import PATIENT_LIMITS
from tests.spark.versions.other_pyspark import DELTA

SINKS = ("delta", "delta-merge", "parquet", "plain")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.kills", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--sink", choices=SINKS, default="delta", help="plain is the control: doubles are expected there"
    )
    arguments = parser.parse_args()
    if "SPARK_TEST_JARS" not in os.environ:
        need("kafka")
        need("delta")
        os.execve(sys.executable, [sys.executable, "-m", "tests.spark.kills", *sys.argv[1:]], DELTA.environment())
    return play(arguments.kills, arguments.seed, arguments.sink)


def play(kills: int, seed: int, sink: str) -> int:
    """1 if a record was lost, or doubled by a sink that promises otherwise."""
    from tests.spark.kills.campaign import Campaign

    began_at = time.monotonic()

    def tell(line: str) -> None:
        print(f"[{time.monotonic() - began_at:4.0f}s] {line}", flush=True)  # noqa: T201 - a command

    with (
        tempfile.TemporaryDirectory(prefix="kills-") as home,
        KafkaCluster(settings=PATIENT_LIMITS) as kafka,
        Campaign(kafka.bootstrap_servers, Path(home), sink, seed, tell) as campaign,
    ):
        result = campaign.play(kills)
    tell(str(result))
    return int(result.lost > 0 or (result.doubled > 0) != (sink == "plain"))


if __name__ == "__main__":
    sys.exit(main())
