"""`python -m tests.spark.kills --kills 200 --seed 1 --sink delta`: a campaign of kills, as long as you like.

It starts itself again with the pyspark and the jars that the sink needs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from membership_client.testing import KafkaCluster
from tests.needs import need
from tests.spark.conftest import PATIENT_LIMITS
from tests.spark.kills.sinks import SINKS
from tests.spark.postgres.server import PostgresServer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.kills", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--sink", choices=SINKS, default="delta", help="plain is the control: doubles are expected there"
    )
    arguments = parser.parse_args()
    if "SPARK_TEST_JARS" not in os.environ:
        sink = SINKS[arguments.sink]
        need("kafka")
        need(sink.needs)
        command = [sys.executable, "-m", "tests.spark.kills", *sys.argv[1:]]
        os.execve(sys.executable, command, sink.pyspark.environment())
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
        place_of(sink, home) as place,
        Campaign(kafka.bootstrap_servers, Path(home), place, sink, seed=seed, tell=tell) as campaign,
    ):
        result = campaign.play(kills)
    tell(str(result))
    return int(result.lost > 0 or (result.doubled > 0) != (sink == "plain"))


@contextmanager
def place_of(sink: str, home: str) -> Iterator[str]:
    """Where the sink writes: a path, the URL of a database, or the name of a table. The database ends with this."""
    if not sink.startswith(("postgres", "iceberg")):
        yield f"{home}/table"
        return
    with PostgresServer() as server:
        if sink.startswith("iceberg"):
            os.environ |= {"SPARK_TEST_DATABASE": server.whole_url, "SPARK_TEST_WAREHOUSE": home}
        yield "lake.shop.numbers" if sink.startswith("iceberg") else server.whole_url


if __name__ == "__main__":
    sys.exit(main())
