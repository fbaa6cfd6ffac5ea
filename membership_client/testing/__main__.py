"""The program `python -m membership_client.testing [NAME=VALUE ...]`: Kafka brokers beside another program.

It writes one line of JSON when the brokers serve, and stops them when standard input ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Mapping

from membership_client import testing
from membership_client.errors import ConfigError
from membership_client.testing.jars import KAFKA_VERSION

_DESCRIPTION = f"""\
Starts Kafka brokers on 127.0.0.1, for tests and demonstrations: embedded ones in this process, which need nothing, or with
--broker kafka real ones ({KAFKA_VERSION}), which need Java. When they serve, the program writes one line of JSON with
bootstrap_servers; for real ones also java and version. When standard input ends, it stops the brokers and deletes their data.
The exit code is 0 then, and 2 if an argument is wrong or a broker cannot be started; standard error says why.
"""

_EXAMPLE = """\
example:
  python -m membership_client.testing --topic orders=6 group.consumer.heartbeat.interval.ms=1000
"""


def main() -> int:
    """Serve until standard input ends. Returns the exit code; argparse exits by itself for --help and wrong arguments."""
    options = _parser().parse_args()
    is_real = options.broker == "kafka"
    serve = _serve_kafka if is_real else _serve_embedded
    # The latter two load Kafka's message formats.
    errors = (ConfigError, testing.KafkaUnavailableError, testing.KafkaStartError) if is_real else (ConfigError,)
    try:
        with serve(options.brokers, dict(options.topic), dict(options.settings)) as answer:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
            with contextlib.suppress(KeyboardInterrupt):
                sys.stdin.read()
    except errors as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


Served = Iterator[dict[str, str]]


@contextlib.contextmanager
def _serve_embedded(brokers: int, topics: Mapping[str, int], settings: Mapping[str, str]) -> Served:
    with testing.EmbeddedKafka(brokers, topics=topics, settings=settings) as kafka:
        yield {"bootstrap_servers": kafka.bootstrap_servers}


@contextlib.contextmanager
def _serve_kafka(brokers: int, topics: Mapping[str, int], settings: Mapping[str, str]) -> Served:
    with testing.KafkaCluster(brokers, settings=settings) as kafka:
        admin = testing.ClusterAdmin(kafka.bootstrap_servers)
        for name, partitions in topics.items():
            admin.create_topic(name, partitions)
        yield {"bootstrap_servers": kafka.bootstrap_servers, "java": str(testing.find_java()), "version": KAFKA_VERSION}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m membership_client.testing",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--broker", choices=["embedded", "kafka"], default="embedded", help="default: embedded")
    parser.add_argument("--brokers", type=int, default=1, metavar="COUNT", help="number of brokers; default: 1")
    parser.add_argument(
        "--topic",
        type=_topic,
        action="append",
        default=[],
        metavar="NAME=PARTITIONS",
        help="create a topic; repeatable",
    )
    parser.add_argument(
        "settings", nargs="*", type=_server_property, metavar="NAME=VALUE", help="server properties of the brokers"
    )
    return parser


def _topic(text: str) -> tuple[str, int]:
    name, _, partitions = text.partition("=")
    if not name or not partitions.isdecimal() or len(partitions) > 9:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not a topic; write NAME=PARTITIONS, such as orders=6")
    return name, int(partitions)


def _server_property(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(
            f"{text[:100]!r} is not a server property; write NAME=VALUE, such as num.partitions=2"
        )
    return name, value


if __name__ == "__main__":
    sys.exit(main())
