"""The project's wheel, and what a package index gets beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without network."""
    return built("--wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive."""
    return built("--sdist", ROOT, tmp_path_factory.mktemp("sdist"))


def built(kind: str, source: Path, target: Path) -> Path:
    """The one file that `python -m build` makes of a source tree."""
    build = [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", str(target), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    (made,) = target.iterdir()
    return made
