"""A start loses no record, however late the membership thread is told of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from membership_client.testing import KafkaCluster
from tests.records import filled_topic

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).parents[2]
STARTS = 10
RECORDS = 2000


@pytest.mark.timeout(400)
def test_a_consumer_that_starts_beside_a_busy_thread_reads_everything(kafka: KafkaCluster) -> None:
    """It was told that its partitions were not its own right after they were assigned: 6 of 25 starts lost records."""
    topic = filled_topic(kafka.bootstrap_servers, "starts", partitions=4, records=RECORDS)
    command = [sys.executable, "-m", "tests.soak.starts", kafka.bootstrap_servers, topic, str(RECORDS), str(STARTS)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert [json.loads(line)["lost"] for line in run.stdout.splitlines()] == [0] * STARTS
