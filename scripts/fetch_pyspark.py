"""Installs another pyspark than that of .venv, once, into a directory that PYTHONPATH puts before .venv's packages.

So it is used with the same Python and the same other packages, and needs no second virtual environment.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STAMP = "requirements.txt"
"""In the directory: the lock file that it was installed from."""


def lock_of(version: str) -> Path:
    """Its packages, with their hashes."""
    return Path(__file__).with_name(f"requirements-pyspark-{version}.txt")


def is_installed(version: str, target: Path) -> bool:
    """From the lock file as it is now."""
    stamp = target / STAMP
    return stamp.exists() and stamp.read_text() == lock_of(version).read_text()


def install(version: str, target: Path) -> None:
    """Replaces what is there. An installation that is interrupted leaves nothing at `target`."""
    print(f"  installing pyspark {version} (460 MB) into {target}", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"install-{target.name}-", dir=target.parent) as scratch:
        made = Path(scratch, "packages")
        # Without build isolation nothing is fetched that the lock file does not name and hash.
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "5"]
        command += ["--require-hashes", "--no-deps", "--no-build-isolation", "--target", str(made)]
        subprocess.run([*command, "--requirement", str(lock_of(version))], check=True)
        shutil.copy(lock_of(version), made / STAMP)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
