"""scripts/test and scripts/lib.sh, called from any directory, and a .venv that is not complete."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

FAKE_PYTHON = """\
#!/bin/sh
# Of Python as much as make_venv calls: every check passes, and `-m venv DIRECTORY` makes one with a package.
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p "$3/bin" "$3/lib/package"
    cp "$0" "$3/bin/python"
    touch "$3/lib/package/code.py" "$3/made-$$"
fi
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A directory with scripts/lib.sh, and a Python that makes empty environments."""
    (tmp_path / "clone" / "scripts").mkdir(parents=True)
    (tmp_path / "clone/scripts/lib.sh").write_text((SCRIPTS / "lib.sh").read_text())
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    return tmp_path / "clone"


def set_up(clone: Path) -> set[str]:
    """Make .venv if needed, and install nothing into it; returns the pid of the process that made it."""
    commands = f'. scripts/lib.sh; find_python() {{ echo "{clone.parent}/python"; }}; make_venv; once thing scripts/lib.sh -- true'
    subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=clone, check=True)
    return {path.name for path in (clone / ".venv").glob("made-*")}


def test_a_venv_that_is_whole_is_kept(clone: Path) -> None:
    """This holds even if something was installed into it by hand, or Python has compiled some of it."""
    first = set_up(clone)
    (clone / ".venv/lib/package/code.pyc").touch()
    (clone / ".venv/lib/another.py").touch()
    assert set_up(clone) == first
    (clone / ".venv/lib/package/code.pyc").unlink()
    (clone / ".venv/lib/another.py").unlink()
    assert set_up(clone) == first


def test_a_venv_of_which_a_part_was_deleted_is_made_anew(clone: Path) -> None:
    """Its stamps once said that everything was installed, and tests failed with ModuleNotFoundError."""
    first = set_up(clone)
    (clone / ".venv/lib/package/code.py").unlink()
    second = set_up(clone)
    assert second != first
    assert (clone / ".venv/lib/package/code.py").exists()
    assert set_up(clone) == second


def test_a_link_to_the_script_works(tmp_path: Path) -> None:
    """It once looked for lib.sh beside the link."""
    link = tmp_path / "run-tests"
    link.symlink_to(SCRIPTS / "test")
    helped = subprocess.run([link, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert "scripts/test --deep" in helped.stdout


def test_the_script_explains_itself_from_any_directory() -> None:
    """It once looked for itself by a relative path after it had changed the directory."""
    helped = subprocess.run(["./test", "--help"], cwd=SCRIPTS, capture_output=True, text=True, check=True, timeout=60)
    assert "scripts/test --deep" in helped.stdout
