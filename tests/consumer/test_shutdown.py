"""How a consuming process ends: by signal, by falling off its end, by a fork's end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import confluent_kafka
import pytest

from membership_client.testing import ClusterAdmin, KafkaCluster, guard
from tests.integration.members import PATIENCE_S
from tests.records import filled_topic

pytestmark = pytest.mark.kafka

_ROOT = Path(__file__).parents[2]

BEGINNING = """
import json, os, sys, warnings
from membership_client import Consumer

servers, topic = sys.argv[1:]
config = {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
"""

UNTIL_A_SIGNAL = """
with Consumer(config) as consumer:
    consumer.stop_on_signals().subscribe([topic])
    for message in consumer:
        print(json.dumps([message.partition(), message.offset()]), flush=True)
report = consumer.close()
print(json.dumps(["closed", report.clean, report.reason]), flush=True)
"""

WITHOUT_CLOSE = """
consumer = Consumer(config)
consumer.subscribe([topic])
while (message := consumer.poll(1.0)) is None:
    pass
print(json.dumps([message.partition(), message.offset()]), flush=True)
"""

IN_A_FORK = """
consumer = Consumer(config)
consumer.subscribe([topic])
while (message := consumer.poll(1.0)) is None:
    pass
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of every fork beside threads.
if (child := os.fork()) == 0:
    try:
        consumer.poll(1.0)
    except Exception as error:
        print(json.dumps(["child", type(error).__name__, consumer.close().reason]), flush=True)
    sys.exit()  # The interpreter frees what the child has inherited: librdkafka must not wait for its threads.
assert os.waitpid(child, 0)[1] == 0
while consumer.poll(1.0) is not None:
    pass
print(json.dumps(["parent", consumer.snapshot.state.name, consumer.close().clean]), flush=True)
"""


@pytest.fixture
def topic(kafka: KafkaCluster) -> str:
    """Ten records in one partition, and a group of the same name."""
    return filled_topic(kafka.bootstrap_servers, "shutdown", partitions=1, records=10)


def start(kafka: KafkaCluster, topic: str, program: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", BEGINNING + program, kafka.bootstrap_servers, topic],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
    )
    guard.watch_process(process.pid)
    return process


def said_at_the_end(process: subprocess.Popen[str]) -> list[object]:
    """Its last line; it must end by itself, well, and without a word of complaint."""
    output, complaints = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, complaints) == (0, "")
    return list(json.loads(output.splitlines()[-1])) if output else []


def committed(kafka: KafkaCluster, topic: str) -> int:
    """The group as an administrator sees it."""
    onlooker = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic})
    (found,) = onlooker.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=PATIENCE_S)
    onlooker.close()
    return int(found.offset)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_loop_and_closes_with_the_signal_as_the_reason(
    kafka: KafkaCluster, topic: str, number: signal.Signals
) -> None:
    """The record in hand is finished, what was read is committed, and the leave says why."""
    process = start(kafka, topic, UNTIL_A_SIGNAL)
    assert process.stdout is not None
    for _ in range(10):
        assert process.stdout.readline()
    process.send_signal(number)
    assert said_at_the_end(process) == ["closed", True, number.name]
    assert committed(kafka, topic) == 10


def test_a_program_that_never_closes_ends_all_the_same(kafka: KafkaCluster, topic: str) -> None:
    """The interpreter's end closes the member: the group does not wait for its session to expire."""
    assert said_at_the_end(start(kafka, topic, WITHOUT_CLOSE)) == [0, 0]
    assert not ClusterAdmin(kafka.bootstrap_servers).describe(topic).members


def test_a_forked_child_finds_a_consumer_that_is_its_parents(kafka: KafkaCluster, topic: str) -> None:
    """It is told so by poll(), its close() does nothing, and the parent goes on."""
    process = start(kafka, topic, IN_A_FORK)
    assert said_at_the_end(process) == ["parent", "STABLE", True]
