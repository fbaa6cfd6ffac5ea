"""The benchmark of the audit still works: a tiny fleet, once, and no word about speed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.clusters.environment import ROOT, environment


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_trial_run(tmp_path: Path) -> None:
    """It says how much, how fast and how large, and leaves nothing behind."""
    work = tmp_path / "work"
    work.mkdir()
    sizes = ["--members", "10", "--hours", "0.1", "--folder", str(work)]
    command = [sys.executable, "-m", "tests.benchmarks.fleet_audit", *sizes]
    run = subprocess.run(command, env=environment(tmp_path), cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    assert "lines/s" in run.stdout
    assert "peak memory: JVM" in run.stdout
    assert "groups=1, members=10, partitions=40" in run.stdout
    assert list(work.iterdir()) == []
