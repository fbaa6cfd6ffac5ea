"""The suite has teeth: it notices every one-line bug in the table."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parent.parent.parent
SUITES = ("tests/core",)


def copy_of_the_project(directory: Path) -> Path:
    """Enough of it to run the suites in: a mutation never touches the working tree."""
    quiet = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("membership_client", "tests"):
        shutil.copytree(ROOT / name, directory / name, ignore=quiet)
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory


def run_suites(root: Path) -> subprocess.CompletedProcess[str]:
    quickly = ("-m", "not kafka", "-x", "-q", "-p", "no:cacheprovider")
    command = [sys.executable, "-P", "-m", "pytest", *quickly, *SUITES]
    return subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)


def test_the_suite_passes_without_a_mutation(tmp_path: Path) -> None:
    """What is measured against is healthy."""
    result = run_suites(copy_of_the_project(tmp_path))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_suite_notices(mutation: Mutation, tmp_path: Path) -> None:
    """One test at least fails, and it is a test that fails, not the import."""
    root = copy_of_the_project(tmp_path)
    mutation.apply(root)
    result = run_suites(root)
    assert result.returncode == 1, f"survived: {mutation.name}\n{result.stdout[-2000:]}"
    assert " failed" in result.stdout, result.stdout[-2000:]
