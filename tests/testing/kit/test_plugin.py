"""The pytest plugin is found by its entry point, imports little, and needs no configuration."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from membership_client.testing import EmbeddedKafka


def test_the_entry_point() -> None:
    """Pytest loads it by this entry point, whose name no other plugin has."""
    (plugin,) = (point for point in entry_points(group="pytest11") if point.name == "membership-client")
    assert plugin.value == "membership_client_pytest"


def test_it_imports_nothing_of_ours_until_a_test_asks() -> None:
    """Pytest loads the plugin at each start, also in projects that do not use it."""
    code = "import membership_client_pytest, sys; sys.exit('membership_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_project_without_configuration(tmp_path: Path) -> None:
    """A test needs two lines."""
    (tmp_path / "test_it.py").write_text("def test_it(embedded_kafka):\n    assert embedded_kafka.bootstrap_servers\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-config", "-W", "error", "."]
    # Tests of Spark put modules of their own on the path of what this process starts, and a plugin would miss one.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("time", ["first", "second"])
def test_each_test_has_a_fresh_broker(embedded_kafka: EmbeddedKafka, time: str) -> None:
    """A topic of one test does not exist in the next."""
    embedded_kafka.create_topic("orders", 2)
    assert len(embedded_kafka.end_offsets("orders")) == 2
