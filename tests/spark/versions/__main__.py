"""`python -m tests.spark.versions [VERSION ...]`: every part of the integration once on each version of pyspark.

It fetches what is not in the cache: pyspark by pip (460 MB each), and the jars of table formats by Spark itself.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version as version_of

from membership_client.testing import KafkaCluster
from membership_client.testing.jars import cache_directory
from tests.needs import need
from tests.spark.postgres.server import PostgresServer
from tests.spark.versions.other_pyspark import POSTGRES, ROOT, OtherPyspark, say

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
_ICEBERG = "org.apache.iceberg:iceberg-spark-runtime"


@dataclass(frozen=True, slots=True)
class Played:
    """A pyspark with what fits it, the newest that is published of each."""

    pyspark: str
    packages: tuple[str, ...]


PLAYED = (
    Played("4.0.5", (f"{_CONNECTOR}:4.0.4", "io.delta:delta-spark_4.0_2.13:4.4.0", f"{_ICEBERG}-4.0_2.13:1.11.0")),
    Played("4.1.4", (f"{_CONNECTOR}:4.1.3", "io.delta:delta-spark_4.1_2.13:4.4.0", f"{_ICEBERG}-4.1_2.13:1.12.0")),
    Played("4.2.0", (f"{_CONNECTOR}:4.2.0", "io.delta:delta-spark_4.2_2.13:4.4.0")),
    Played("4.3.0", (f"{_CONNECTOR}:4.2.0",)),
)


def play(one: Played, bootstrap_servers: str) -> int:
    """How many parts failed."""
    say(f"pyspark {one.pyspark} with {', '.join(one.packages)}")
    own_version = one.pyspark == version_of("pyspark")
    if not own_version:
        _install(one.pyspark)
    pyspark = OtherPyspark(None if own_version else one.pyspark, POSTGRES.jars)
    environment = pyspark.environment()
    with PostgresServer() as server, tempfile.TemporaryDirectory() as warehouse:
        places = {
            "SPARK_TEST_JARS": ",".join([environment["SPARK_TEST_JARS"], *_token_provider()]),
            "SPARK_TEST_PACKAGES": ",".join(one.packages),
            "SPARK_TEST_DATABASE": server.whole_url,
            "SPARK_TEST_WAREHOUSE": warehouse,
        }
        command = [sys.executable, "-m", "tests.spark.versions.inside.parts", bootstrap_servers]
        return subprocess.run(command, cwd=ROOT, env=environment | places, check=False).returncode


def _token_provider() -> list[str]:
    """That of 4.0.0, with which the connector works: not every mirror has those of later versions."""
    found = cache_directory().glob("spark-sql-kafka-*/spark-token-provider-*.jar")
    return list(map(str, found))


def _install(version: str) -> None:
    """Without a lock file: this is for people, and not for CI."""
    target = cache_directory() / f"pyspark-{version}"
    if not target.exists():
        say(f"installing pyspark {version} into {target}")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
        subprocess.run([*command, f"pyspark=={version}", "py4j==0.10.9.9"], check=True)


def main(wanted: list[str]) -> str | int:
    """0, or what failed."""
    for thing in ("kafka", "postgres", "connector", "spark"):
        need(thing)
    played = [one for one in PLAYED if not wanted or one.pyspark in wanted]
    if len(played) < len(wanted):
        sys.exit(f"error: the versions are {', '.join(one.pyspark for one in PLAYED)}.")
    with KafkaCluster() as kafka:
        failed = [one.pyspark for one in played if play(one, kafka.bootstrap_servers) != 0]
    return f"error: something failed on pyspark {', '.join(failed)}." if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
