"""Runs the tests of the core in a copy of the project with a mutation, the slow files last."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.mutations.mutations import Mutation
from tests.mutations.project import copy_of_the_project, run_in

SLOW = ("test_totality.py", "test_classic_rebalances.py")
"""Three quarters of the time of all tests of the core. Most mutations fail in another file, and the run ends there."""


def files_of_the_core(root: Path) -> list[str]:
    """All test files of the core, those of the assignors after the others and the slow ones after them."""
    files = sorted((root / "tests" / "core").rglob("test_*.py"), key=lambda file: (len(file.parts), file.name))
    return [str(file.relative_to(root)) for file in sorted(files, key=lambda file: file.name in SLOW)]


def run_suite(root: Path) -> subprocess.CompletedProcess[str]:
    return run_in(root, "pytest", "-x", "-q", "-p", "no:cacheprovider", *files_of_the_core(root))


def expect_notice(mutation: Mutation, directory: Path) -> None:
    """At least one test fails, and it is a test that fails, not the import."""
    root = copy_of_the_project(directory)
    mutation.apply(root)
    result = run_suite(root)
    assert result.returncode == 1, f"survived: {mutation.name}\n{result.stdout[-2000:]}"
    assert " failed" in result.stdout, result.stdout[-2000:]
