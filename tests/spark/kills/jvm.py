"""The program of a JVM with a Spark session, for drivers that come and go: they are attached to it, and it outlives them.

So a kill of a driver costs no start of a JVM, and what the driver had Spark do goes on without it: a commit of a driver
that is dead may still come.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark import SparkContext

from tests.spark.clusters.driving import say, session


def main() -> None:
    with session():
        gateway: Any = SparkContext._gateway
        say("gateway", port=gateway.gateway_parameters.port, secret=gateway.gateway_parameters.auth_token)
        sys.stdin.read()


if __name__ == "__main__":
    main()
