"""The soak, for two minutes: an hour is for those who ask for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.kafka

_MEMBERS = ({"kill a process"}, {"sleep"}, {"roll a group"})
_BROKERS = {"kill a broker", "stop a broker", "pause a broker"}
_NETWORKS = {"cut", "stall", "one way", "reset", "forget", "slow", "spoil"}
_ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(900)
def test_a_little_of_everything(tmp_path: Path) -> None:
    """Whatever the monkey does, nothing is owned twice, nothing is lost, and all is well soon after it has stopped.

    The bug was that it did not do much: the test passed without a kill or a roll.
    """
    found = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.benchmarks.soak", "--minutes", "2", "--seed", "6", "--json", str(found)]
    run = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr + run.stdout
    result = json.loads(found.read_text())
    assert result["kept"]
    for kind in (*_MEMBERS, _BROKERS, _NETWORKS):
        assert kind & result["acts"].keys(), f"{result['acts']} has none of {kind}"
    assert result["counts"]["lost"], "with this seed members that read sleep first, for longer than their session"
    assert result["counts"]["commit"]
    assert result["counts"]["report"]
