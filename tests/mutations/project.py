"""A copy of the project to spoil: a mutation never touches the working tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def copy_of_the_project(directory: Path) -> Path:
    """Enough of it to run the suites and the simulation in, with its bytecode: compiling takes longer than the tests."""
    hidden = shutil.ignore_patterns(".*")
    for name in ("membership_client", "tests"):
        shutil.copytree(ROOT / name, directory / name, ignore=hidden)
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory


def run_in(root: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m module` as the copy has it."""
    command = [sys.executable, "-P", "-m", module, *arguments]
    return subprocess.run(command, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)
