"""The process of a `MockCluster`: run as a file, imports nothing but confluent-kafka, so that it starts quickly.

Prints the bootstrap servers on one line and lives until its input ends, that is, no longer than its owner.
"""

from __future__ import annotations

import contextlib
import os
import sys

from confluent_kafka import Producer


def main() -> None:
    """One argument: the number of brokers."""
    # The mock lives inside a client; the address it is given is never used.
    client = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": int(sys.argv[1]), "log_level": 0})
    brokers = client.list_topics(timeout=10).brokers.values()
    # An owner that is gone already needs no answer.
    with contextlib.suppress(BrokenPipeError):
        print(",".join(f"{broker.host}:{broker.port}" for broker in brokers), flush=True)  # noqa: T201 - this is the answer
    sys.stdin.read()
    # Destroying the client would wait for its threads, and there is nothing to save.
    os._exit(0)


if __name__ == "__main__":
    main()
