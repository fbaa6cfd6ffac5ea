"""docs/spark-pipeline.md says what is true, because it is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.pipeline.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.deep

PAGE = Path(__file__).parents[3] / "docs" / "spark-pipeline.md"


@pytest.mark.kafka
def test_the_pages_program_runs(kafka: KafkaCluster, spark: SparkSession, tmp_path: Path) -> None:
    """It is a whole program, given a broker, a topic and a path of its own."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(40)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    here = {"localhost:9092": stage.bootstrap_servers, '"orders"': f'"{stage.topic}"', "/data/orders": str(tmp_path)}
    for theirs, ours in here.items():
        program = program.replace(theirs, ours)
    exec(compile(program.replace(f'alias("{stage.topic}")', 'alias("order")'), PAGE.name, "exec"), {})
    rows = spark.read.parquet(str(tmp_path)).select("order.n").collect()
    assert sorted(row.n for row in rows) == list(range(40))
