"""docs/spark.md says what is true, because it is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from membership_client.testing import KafkaCluster
from tests.integration.members import eventually
from tests.spark.pipeline.stage import PATIENCE_S, Stage

pytestmark = pytest.mark.deep

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"


@pytest.mark.kafka
@pytest.mark.usefixtures("spark")
def test_the_pages_program_runs(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a whole program, given a broker and a topic of its own, and ends with the table that the page shows.

    Here it waits for the end of the records, and not for half a minute.
    """
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(40)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    here = {"localhost:9092": stage.bootstrap_servers, '"orders"': f'"{stage.topic}"', '"shop"': f'"{stage.topic}"'}
    for theirs, ours in {**here, "job.wait(timeout_s=30)": "wait()"}.items():
        program = program.replace(theirs, ours)

    def wait() -> None:
        eventually(lambda: sum(stage.committed().values()) == stage.produced, "all is committed", PATIENCE_S)

    exec(compile(program, PAGE.name, "exec"), {"wait": wait})
    assert "slot  executor  host" in capsys.readouterr().out
