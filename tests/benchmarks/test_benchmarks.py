"""The benchmarks themselves still work: tiny sizes, once, and no word about speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.report import table
from tests.needs import need
from tests.spark.clusters import class_archive
from tests.spark.clusters.environment import environment

_ROOT = Path(__file__).parents[2]

_NO_CODE = "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN pyspark-shell"
"""So little data does not repay code that is made for it."""


def run_trial(module: str, found: Path) -> subprocess.CompletedProcess[str]:
    """A promise that was not kept is an exit code of 1, and so is an exception; but then nothing was found."""
    command = [sys.executable, "-m", module, "--trial", "--json", str(found)]
    run = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert run.returncode in {0, 1}, run.stderr[-4000:]
    assert found.exists(), run.stderr[-4000:]
    return run


@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_a_trial_run(tmp_path: Path) -> None:
    """Every measurement gives figures, as a table and as JSON."""
    found = tmp_path / "figures.json"
    run = run_trial("tests.benchmarks", found)
    figures = json.loads(found.read_text())["figures"]
    assert len(figures) == len(run.stdout.splitlines()) - 1 == 38
    assert all("ours" in figure["values"] for figure in figures)


@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_a_trial_run_of_the_keeper(tmp_path: Path) -> None:
    """What is kept with it and without, how late it is, and what it costs."""
    found = tmp_path / "figures.json"
    run_trial("tests.benchmarks.keeper", found)
    figures = json.loads(found.read_text())["figures"]
    assert [figure["unit"] for figure in figures].count("partitions") == 4
    assert len(figures) == 11
    assert all("ours" in figure["values"] for figure in figures)


@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_a_trial_run_on_spark(tmp_path: Path) -> None:
    """Epochs and slots beside plain confluent-kafka, on an executor that is killed, and beside Spark's own source."""
    need("connector")
    found = tmp_path / "figures.json"
    run_trial("tests.benchmarks.spark", found)
    figures = json.loads(found.read_text())["figures"]
    assert [figure["values"].keys() for figure in figures] == [{"ours", "confluent"}] * 3 + [{"ours"}] * 3


@pytest.mark.timeout(600)
def test_a_trial_run_of_the_audit(tmp_path: Path) -> None:
    """A tiny fleet, whose audit keeps to its memory, and nothing is left behind."""
    work, found = tmp_path / "work", tmp_path / "figures.json"
    work.mkdir()
    sizes = ["--members", "10", "--hours", "0.02", "--folder", str(work), "--json", str(found)]
    command = [sys.executable, "-m", "tests.benchmarks.fleet_audit", *sizes]
    quick = environment(tmp_path) | class_archive.options() | {"PYSPARK_SUBMIT_ARGS": _NO_CODE}
    run = subprocess.run(command, env=quick, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    speed, memory = json.loads(found.read_text())["figures"]
    assert "10 members" in speed["how"]
    assert (memory["unit"], memory["met"]) == ("MB", True)
    assert list(work.iterdir()) == []


def test_a_promise_that_is_missed_stands_out() -> None:
    """Against a number as well as against a peer of the same run."""
    slow = Figure(
        name="slow", unit="s", values={"ours": 2.0, "confluent": 3.0}, how="", limit=Limit(0.5, of_confluent=True)
    )
    quick = Figure(name="quick", unit="s", values={"ours": 2.0}, how="", limit=Limit(2))
    even = Figure(name="even", unit="ms", values={"ours": 6.1, "java": 2.0}, how="", limit=Limit(3, of_java=True))
    little = Figure(name="little", unit="records/s", values={"ours": 2.0}, how="", limit=Limit(at_least=3))
    _, first, second, third, fourth = table([slow, quick, little, even]).splitlines()
    assert "MISSED" in first
    assert "kept" in second
    assert ">= 3" in third
    assert "MISSED" in third
    assert fourth.split()[-6:] == ["3.05", "<=", "3", "of", "Java", "MISSED"]
