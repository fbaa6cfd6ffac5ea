"""The same audit over Spark Connect, where there is no SparkContext to touch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.diagnose.test_page import incident
from tests.diagnose.traces import sections_of, written
from tests.docs.test_docs import code_blocks
from tests.spark.clusters import sessions
from tests.spark.clusters.connect_server import ConnectServer
from tests.spark.clusters.environment import environment

_QUICK = {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_pages_program_runs_over_connect(tmp_path: Path) -> None:
    """The program of docs/audit.md, on the incident of docs/debugging.md."""
    traces, output = tmp_path / "traces", tmp_path / "out"
    traces.mkdir()
    (tmp_path / "server").mkdir()
    written(sections_of(incident()), traces)
    (block,) = code_blocks("docs/audit.md")
    program = block.replace('"traces"', repr(str(traces))).replace('"audit"', repr(str(output)))
    with ConnectServer(sessions.local(_QUICK), tmp_path / "server") as server:
        command, env = [sys.executable, "-c", program], environment(tmp_path) | {"SPARK_REMOTE": server.url}
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    assert "members=3, partitions=6, rebalances=5, double_owners=2, gaps=7" in run.stdout
    assert "till-b was thrown out" in (output / "index.html").read_text()
