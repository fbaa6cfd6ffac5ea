"""docs/spark.md says what is true, because it is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from membership_client.admin import GroupAdmin
from membership_client.testing import KafkaCluster
from tests.spark.pipeline.stage import Stage

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_pages_program_runs(kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a whole program, given a broker and a topic of its own, and ends with the table that the page shows."""
    stage = Stage(kafka.bootstrap_servers)
    stage.fill(40)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    here = {"localhost:9092": stage.bootstrap_servers, '"orders"': f'"{stage.topic}"', '"shop"': f'"{stage.topic}"'}
    for theirs, ours in here.items():
        program = program.replace(theirs, ours)
    exec(compile(program, PAGE.name, "exec"), {})
    assert "slot  executor  host" in capsys.readouterr().out
    with GroupAdmin(stage.bootstrap_servers) as admin:
        assert set((admin.describe(stage.topic).lag or {}).values()) == {0}
