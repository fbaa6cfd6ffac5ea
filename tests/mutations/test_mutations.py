"""The suite has teeth: it notices every one-line bug in the table."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mutations.mutations import MUTATIONS, Mutation
from tests.mutations.project import copy_of_the_project, run_in

SUITES = ("tests/core",)


def run_suites(root: Path) -> subprocess.CompletedProcess[str]:
    return run_in(root, "pytest", "-m", "not kafka", "-x", "-q", "-p", "no:cacheprovider", *SUITES)


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
