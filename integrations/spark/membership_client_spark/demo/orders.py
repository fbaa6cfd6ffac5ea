"""The orders of the demonstration, and its broker. An order's values follow from its number, so the expected sums are known.

The broker is real Kafka where its jars are in the cache, as they are after scripts/test, and else an embedded one, which needs nothing.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from membership_client.testing import cached_kafka_jars, find_java

TOPIC: Final = "orders"
PARTITIONS: Final = 6
SCHEMA: Final = "id BIGINT, customer STRING, cents BIGINT"

_CUSTOMERS = ("Ada", "Grace", "Katherine", "Margaret", "Barbara")
_MANY = 10_000
_FLUSH_S = 60.0


class OrdersError(RuntimeError):
    """The topic was not created, or the broker did not accept all orders."""


def cents_of(number: int) -> int:
    """The price of an order: from 1.00 to 99.99, different for neighbours."""
    return 100 + number * 7919 % 9900


def value_of(number: int) -> bytes:
    customer = _CUSTOMERS[number % len(_CUSTOMERS)]
    return json.dumps({"id": number, "customer": customer, "cents": cents_of(number)}).encode()


def create_topic(bootstrap_servers: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    try:
        client.create_topics([NewTopic(TOPIC, PARTITIONS, 1)], operation_timeout=30)[TOPIC].result()
    except KafkaException as error:
        raise OrdersError(f"The topic {TOPIC} was not created: {error.args[0].str()}.") from error


def produce(bootstrap_servers: str, records: int) -> int:
    """Produces orders 0 up to `records`, to all partitions in turn. Returns their total price in cents.

    OrdersError unless the broker has accepted all of them.
    """
    # One request at a time: the first record of a new topic may be refused because its leader is not ready. When it is sent
    # again after the second record, the broker takes it for a duplicate, drops it, and reports it as delivered.
    once = {"enable.idempotence": True, "max.in.flight": 1}
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 0, **once})
    for number in range(records):
        producer.produce(TOPIC, value_of(number), partition=number % PARTITIONS)
        if number % _MANY == _MANY - 1:
            producer.flush(_FLUSH_S)
    if left := producer.flush(_FLUSH_S):
        raise OrdersError(f"{left} orders were not accepted by the broker within {_FLUSH_S:g} s.")
    return sum(map(cents_of, range(records)))


# --- the broker, in a process of its own that ends with the demonstration ---------------------------------------------

_HEARTBEAT = "group.consumer.heartbeat.interval.ms=1000"
"""Kafka's default is 5 s; with it, joining slots would be slow to watch."""

_END_S = 20.0


class BrokerError(RuntimeError):
    """There is no broker; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedBroker:
    """A broker that serves. `java` is for Spark."""

    bootstrap_servers: str
    java: Path
    title: str


@contextlib.contextmanager
def embedded_broker() -> Iterator[EmbeddedBroker]:
    """A broker that serves within the block. BrokerError if Java, which Spark needs, is not on this machine."""
    java = find_java()
    if java is None:
        raise BrokerError(
            "Spark needs Java 17 or newer, and none was found. Install one, or set JAVA_HOME, and run this again."
        )
    process = subprocess.Popen(
        # -P keeps the current directory, whose file names are the user's, off the new process's import path.
        [sys.executable, "-P", "-m", "membership_client.testing", "--broker", broker_kind(), _HEARTBEAT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C must reach the demonstration only, which then ends its broker.
        start_new_session=True,
    )
    try:
        yield _await_answer(process, java)
    finally:
        _end(process)


def broker_kind() -> str:
    """`kafka` for real Kafka, `embedded` where its jars are missing."""
    return "kafka" if cached_kafka_jars() else "embedded"


def _await_answer(process: subprocess.Popen[str], java: Path) -> EmbeddedBroker:
    assert process.stdout is not None
    assert process.stderr is not None
    if not (line := process.stdout.readline()):
        raise BrokerError(f"The broker did not start. {process.stderr.read().strip()}")
    answer = json.loads(line)
    title = f"Kafka {answer['version']}" if "version" in answer else "EmbeddedKafka, which behaves as Kafka 4.3 does,"
    return EmbeddedBroker(answer["bootstrap_servers"], java, title)


def _end(process: subprocess.Popen[str]) -> None:
    """Closes its input: then the process stops its broker and removes its data."""
    try:
        process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
