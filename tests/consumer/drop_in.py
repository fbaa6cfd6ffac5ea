"""Runs the programs beside this file: as they are, and with our Consumer in place of confluent-kafka's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient

from membership_client.testing import ClusterAdmin
from tests.integration.members import QUICK

PARTITIONS = 3
RECORDS = 100
"""The number of records in each partition."""
_FIRST_AT_MS = int(time.time() * 1000) - 60_000
"""Records with the same offset are of the same millisecond, wherever they are and however slowly they were produced."""

_ROOT = Path(__file__).parents[2]
_THEIRS = "from confluent_kafka import Consumer\n"
_OURS = "from membership_client import Consumer\n"
_PATIENCE_S = 90.0

Committed = dict[tuple[str, int], tuple[int, str | None, int | None]]


class Outcome(NamedTuple):
    """What a program printed, and what its group has committed afterwards: offset, metadata and leader epoch."""

    printed: str
    committed: Committed


class Stand:
    """Runs programs, each in a group of its own."""

    def __init__(self, bootstrap_servers: str, directory: Path) -> None:
        self._servers = bootstrap_servers
        self._directory = directory
        self._admin = ClusterAdmin(bootstrap_servers)
        self._client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def topic(self, prefix: str = "drop-in", *, records: int = RECORDS) -> str:
        """A new topic; its records have keys, values and times by which they can be told apart."""
        name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        self._admin.create_topic(name, PARTITIONS)
        producer = Producer({"bootstrap.servers": self._servers, "linger.ms": 20})
        for partition in range(PARTITIONS):
            for number in range(records):
                value, key = f"{partition}-{number}".encode(), f"key {number}".encode()
                producer.produce(name, value, key, partition, timestamp=_FIRST_AT_MS + number)
        producer.flush()
        return name

    def run_both(self, program: str, *topics: str) -> tuple[Outcome, Outcome]:
        """Run the program with both libraries at the same time."""
        with ThreadPoolExecutor(2) as pool:
            ours, theirs = (pool.submit(run, program, *topics) for run in (self.run_ours, self.run_theirs))
            return ours.result(), theirs.result()

    def run_theirs(self, program: str, *topics: str) -> Outcome:
        return self._run(program, _source(program), topics)

    def run_ours(self, program: str, *topics: str) -> Outcome:
        source = _source(program)
        assert source.count(_THEIRS) == 1
        return self._run(program, source.replace(_THEIRS, _OURS), topics)

    def run_module(self, program: str, *topics: str) -> Outcome:
        """The program, with all names of confluent-kafka imported from our drop-in."""
        return self._run(program, _source(program).replace("confluent_kafka", "membership_client.confluent"), topics)

    def _run(self, program: str, source: str, topics: Sequence[str]) -> Outcome:
        group = f"{program}-{uuid.uuid4().hex[:8]}"
        self._admin.set_group_config(group, **QUICK)
        script = self._directory / f"{group}.py"
        script.write_text(source)
        done = subprocess.run(
            [sys.executable, str(script), self._servers, group, *topics],
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{program} failed:\n{done.stdout}\n{done.stderr}"
        return Outcome(done.stdout, self._committed(group))

    def _committed(self, group: str) -> Committed:
        (found,) = self._client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        places = found.result(30).topic_partitions or []
        return {(p.topic, p.partition): (p.offset, p.metadata, p.leader_epoch) for p in places if p.offset >= 0}


def _source(program: str) -> str:
    return (Path(__file__).parent / "programs" / f"{program}.py").read_text()
