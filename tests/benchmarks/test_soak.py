"""The soak, for half a minute: an hour is for those who ask for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kafka, pytest.mark.cluster, pytest.mark.slow]

_ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(400)
def test_a_little_of_everything(tmp_path: Path) -> None:
    """Whatever the monkey does, nothing is owned twice, nothing is lost, and all is well soon after it has stopped."""
    found = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.benchmarks.soak", "--minutes", "0.6", "--seed", "3", "--json", str(found)]
    run = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr + run.stdout
    assert json.loads(found.read_text())["kept"]
