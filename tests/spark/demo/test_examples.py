"""The examples for Spark do what they say, because they are run."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from membership_client.testing import KafkaCluster
from membership_client_spark.demo.orders import create_topic, produce
from membership_client_spark.demo.processes import end_family
from tests.integration.members import eventually
from tests.spark.clusters.environment import ROOT, environment

PATIENCE_S = 240.0
"""For a program that starts a Spark, on a machine that runs everything else at once."""

ORDERS = 50

Run = Callable[[str], "subprocess.Popen[str]"]

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600), pytest.mark.deep]


@pytest.fixture
def run(kafka_factory: Callable[[], KafkaCluster], tmp_path: Path) -> Iterator[Run]:
    """Starts an example, given a broker with orders and the directory `out`; it ends with the test."""
    started: list[subprocess.Popen[str]] = []
    servers = kafka_factory().bootstrap_servers
    create_topic(servers)
    produce(servers, ORDERS)
    (tmp_path / "out").mkdir()

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(ROOT / "examples" / name), servers, str(tmp_path / "out")]
        environ = environment(tmp_path / "spark")
        started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ, start_new_session=True)
        )
        return started[-1]

    yield start
    for process in started:
        end_family(process.pid)
        process.communicate()


def test_the_pipeline_example_counts_every_order_once(run: Run) -> None:
    """Its last words are a table with the orders of each of the five customers."""
    example = run("spark_pipeline.py")
    output, _ = example.communicate(timeout=PATIENCE_S)
    assert example.returncode == 0
    assert "epochs: 1" in output
    rows = [line.strip("|").split("|") for line in output.splitlines() if line.startswith("|")][1:]
    assert [int(orders) for _, orders, _ in rows] == [ORDERS // 5] * 5


def test_the_consume_example_archives_until_it_is_told_to_stop(run: Run, tmp_path: Path) -> None:
    """Arrow batches become files, SIGTERM ends the job in order, and its last words are how the slots stood."""
    example = run("spark_consume.py")
    eventually(lambda: rows_in(tmp_path / "out") == ORDERS, "all orders are in files", PATIENCE_S)
    example.send_signal(signal.SIGTERM)
    output, _ = example.communicate(timeout=PATIENCE_S)
    assert example.returncode == 0
    assert output.startswith("slot  executor")


def rows_in(directory: Path) -> int:
    """Of files that are complete: one that is being written cannot be read yet."""
    try:
        return sum(pq.read_metadata(file).num_rows for file in directory.iterdir())
    except (OSError, ValueError):
        return 0
