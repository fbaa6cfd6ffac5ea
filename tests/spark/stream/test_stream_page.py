"""docs/spark-stream.md and the example do what they say, because they are run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from membership_client_spark.demo.processes import end_family
from tests.spark.clusters.environment import ROOT, environment
from tests.spark.pipeline.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900), pytest.mark.deep]

PATIENCE_S = 300.0
"""For a program that starts a Spark, on a machine that runs everything else at once."""


def test_the_pages_program_runs(kafka: KafkaCluster, spark: SparkSession, tmp_path: Path) -> None:
    """It is a whole program, given a broker, a topic and paths of its own."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(40)
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/spark-stream.md").read_text(), re.DOTALL)
    here = {"localhost:9092": stage.bootstrap_servers, '"orders"': f'"{stage.topic}"', "/data/": f"{tmp_path}/"}
    for theirs, ours in here.items():
        program = program.replace(theirs, ours)
    exec(compile(program, "spark-stream.md", "exec"), {})
    assert spark.read.parquet(str(tmp_path / "orders")).select("text").distinct().count() == 40


def test_the_example_counts_on(kafka: KafkaCluster, tmp_path: Path) -> None:
    """It makes its topic; the second run adds to the counts of the first one, and the group has no lag."""
    command = [sys.executable, str(ROOT / "examples/spark_stream.py"), kafka.bootstrap_servers, str(tmp_path / "state")]
    for run in (1, 2):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path / "spark"), start_new_session=True
        )
        try:
            output, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            end_family(process.pid)
        assert process.returncode == 0
        assert re.search(rf"\| +the\| +{2 * run}\|", output)
        assert output.endswith("lag: 0\n")
