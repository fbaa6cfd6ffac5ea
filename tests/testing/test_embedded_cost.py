"""The cost of an embedded cluster, in processor time and memory, which a busy machine does not change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from membership_client.testing import EmbeddedKafka

pytestmark = pytest.mark.deep

PATIENCE_S = 120.0
RECORDS = 50_000
MIB = 2**20


class Broker:
    """An embedded cluster in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], servers: str) -> None:
        self.servers = servers
        self._proc = Path(f"/proc/{process.pid}")

    def cpu_s(self) -> float:
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        return int((self._proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def broker() -> Iterator[Broker]:
    command = [sys.executable, "-m", "membership_client.testing", "--topic", "orders=6"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Broker(process, json.loads(process.stdout.readline())["bootstrap_servers"])
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0


def test_it_is_ready_within_a_tenth_of_a_second() -> None:
    """Three brokers answer when start() returns."""
    before = time.thread_time()  # Clients of other tests in this process may have threads that still run.
    with EmbeddedKafka(3, topics={"orders": 6}):
        assert time.thread_time() - before < 0.1


def test_it_takes_thirty_megabytes(broker: Broker) -> None:
    """This includes Python and all imports."""
    assert broker.memory() < 30 * MIB


def test_it_takes_and_gives_fifty_thousand_records_per_second_of_processor_time(broker: Broker) -> None:
    """Confluent-kafka sends records of a hundred bytes."""
    before = broker.cpu_s()
    # On a busy machine few records come within the default linger of 5 ms, and each request has its own cost.
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.servers, "linger.ms": 1000})
    for number in range(RECORDS):
        producer.produce("orders", b"x" * 100, str(number))
    assert producer.flush(PATIENCE_S) == 0
    taken = broker.cpu_s()
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.servers, "group.id": "shop", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    found, ends_at = 0, time.monotonic() + PATIENCE_S
    while found < RECORDS:
        assert time.monotonic() < ends_at
        found += len(consumer.consume(RECORDS, 0.1))
    consumer.close()
    assert taken - before < 1.0
    assert broker.cpu_s() - taken < 1.0
