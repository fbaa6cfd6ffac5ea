"""The program `python -m membership_client.testing [NAME=VALUE ...]`: one Kafka broker beside another program.

It writes one line of JSON when the broker serves, and stops the broker when standard input ends.
"""

from __future__ import annotations

import argparse
import json
import sys

from membership_client.errors import ConfigError
from membership_client.testing import KafkaCluster, KafkaStartError, KafkaUnavailableError, find_java
from membership_client.testing.jars import KAFKA_VERSION

_DESCRIPTION = f"""\
Starts one Kafka broker ({KAFKA_VERSION}) on 127.0.0.1, for tests and demonstrations. When the broker serves, the program writes
one line of JSON with bootstrap_servers, java and version. It stops the broker and removes its data when standard input ends.
The exit code is 0 then, and 2 if an argument is wrong or the broker cannot be started; standard error says why.
"""

_EXAMPLE = """\
example:
  python -m membership_client.testing group.consumer.heartbeat.interval.ms=1000
"""


def main() -> int:
    """Serve until standard input ends. Returns the exit code; argparse exits by itself for --help and wrong arguments."""
    settings = dict(_parser().parse_args().settings)
    try:
        with KafkaCluster(settings=settings) as kafka:
            _write_line(
                {"bootstrap_servers": kafka.bootstrap_servers, "java": str(find_java()), "version": KAFKA_VERSION}
            )
            sys.stdin.read()
    except (ConfigError, KafkaUnavailableError, KafkaStartError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m membership_client.testing",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "settings", nargs="*", type=_server_property, metavar="NAME=VALUE", help="server properties of the broker"
    )
    return parser


def _server_property(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(
            f"{text[:100]!r} is not a server property; write NAME=VALUE, such as num.io.threads=2"
        )
    return name, value


def _write_line(answer: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
