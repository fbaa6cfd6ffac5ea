"""The program that picks mutants by itself, in miniature, so that it does not stop working unnoticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.equivalents import EQUIVALENTS
from tests.mutations.mutants import mutants_of
from tests.mutations.packages import path_of
from tests.mutations.project import ROOT

pytestmark = pytest.mark.deep


def test_the_changes_of_a_small_file(tmp_path: Path) -> None:
    """One of each kind, told by the function that it is in; none in what is for types, assertions and texts."""
    file = tmp_path / "small.py"
    file.write_text(
        "if TYPE_CHECKING:\n"
        "    from elsewhere import Member\n"
        "Act = Callable[[int, str], int]\n"
        "LIMIT = 3\n"
        "def due(member: Old | Member, at: float) -> Yes | No:\n"
        "    assert at > 0, f'{at + 1}'\n"
        "    if member and at < LIMIT:\n"
        "        return replace(member, at=at + 1)\n"
        "    raise ValueError('text')\n"
    )
    found = {(mutant.function, mutant.before, mutant.after) for mutant in mutants_of(file)}
    assert found == {
        ("", "3", "4"),
        ("due", "member and at < LIMIT", "True and at < LIMIT"),
        ("due", "member and at < LIMIT", "member and True"),
        ("due", "at < LIMIT", "at <= LIMIT"),
        ("due", "at=at + 1", "(left out)"),
        ("due", "at=at + 1", "at=None"),
        ("due", "at + 1", "at"),
        ("due", "1", "2"),
        ("due", "raise ValueError('text')", "(left out)"),
    }


def test_no_call_of_super_is_left_out(tmp_path: Path) -> None:
    """Its function has a cell for the class then and not without it: the program ended there, and judged no more."""
    file = tmp_path / "small.py"
    file.write_text("class A(Exception):\n    def __init__(self) -> None:\n        super().__init__('text')\n")
    assert mutants_of(file) == []


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, without the modules that tests of Spark hide from their processes by PYTHONPATH."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "tests.mutations", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_program_catches_mutants_of_functions_and_modules() -> None:
    """Its table says how many, and its exit code that the goal is met."""
    judges = ["test_budget_warnings", "test_callbacks_and_polls", "test_looks_at_callbacks"]
    tests = ["--tests", *(f"tests/core/{name}.py" for name in judges), "--seeds", "3"]
    result = run("core/budgets.py", *tests)
    assert "share" in result.stdout, result.stderr[-2000:]
    assert result.returncode == 0, result.stdout[-3000:]


def test_the_program_judges_what_is_imported_only_where_it_is_needed() -> None:
    """The functions of net/tls.py could not be found, and the process that judges ended at the first of them."""
    tests = ["--tests", "tests/net/test_authentication.py", "--seeds", "0", "--share", "0.1"]
    result = run("net/tls.py", *tests)
    assert "share" in result.stdout, result.stderr[-2000:]


def test_every_equivalent_fits_a_mutant() -> None:
    """One that fits none hides nothing yet, but would hide the next that looks like it."""
    for one in EQUIVALENTS:
        assert any(one.matches(mutant) for mutant in mutants_of(path_of(one.file))), f"fits no mutant any more: {one}"
