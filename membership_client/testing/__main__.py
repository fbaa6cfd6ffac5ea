"""A broker beside a program that wants one: `python -m membership_client.testing [setting=value ...]`.

When the broker serves, says so in one line of JSON; lives until its input ends, that is, no longer than its owner.
Exits with 2 and a sentence on standard error if there cannot be a broker here.
"""

from __future__ import annotations

import json
import sys

from membership_client.testing import KafkaCluster, KafkaStartError, KafkaUnavailableError, find_java
from membership_client.testing.jars import KAFKA_VERSION


def main() -> int:
    """Arguments are server properties."""
    settings = dict(argument.split("=", 1) for argument in sys.argv[1:])
    try:
        with KafkaCluster(settings=settings) as kafka:
            _say({"bootstrap_servers": kafka.bootstrap_servers, "java": str(find_java()), "version": KAFKA_VERSION})
            sys.stdin.read()
    except (KafkaUnavailableError, KafkaStartError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _say(answer: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
