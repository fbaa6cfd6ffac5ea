"""Runs the tests of the core in a copy of the project with a mutation."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.mutations.mutations import Mutation
from tests.mutations.project import copy_of_the_project, run_in


def run_suite(root: Path) -> subprocess.CompletedProcess[str]:
    return run_in(root, "pytest", "-x", "-q", "-p", "no:cacheprovider", "tests/core")


def expect_notice(mutation: Mutation, directory: Path) -> None:
    """At least one test fails, and it is a test that fails, not the import."""
    root = copy_of_the_project(directory)
    mutation.apply(root)
    result = run_suite(root)
    assert result.returncode == 1, f"survived: {mutation.name}\n{result.stdout[-2000:]}"
    assert " failed" in result.stdout, result.stdout[-2000:]
