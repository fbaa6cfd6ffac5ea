"""Runs `membership-client` with a standard output that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ENDS = {"full": (2, "The output cannot be written: No space left on device.\n"), "closed": (141, "")}
"""Exit code and stderr of every command."""


def run_with_output(arguments: Sequence[str], output: str) -> tuple[int, str]:
    """A full output, or one whose reader is gone. Its exit code, and what it says on stderr."""
    if output == "full":
        if not Path("/dev/full").exists():
            pytest.skip("there is no /dev/full, as on macOS")
        stdout = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, stdout = os.pipe()
        os.close(reader)
    command = [sys.executable, "-m", "membership_client", *arguments]
    try:
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    finally:
        os.close(stdout)
    return done.returncode, done.stderr
