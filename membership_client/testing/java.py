"""Finds a Java that can run a Kafka 4 broker. Run as a program, its exit code says whether there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MINIMUM_JAVA = 17


def find_java() -> Path | None:
    """The first `java` of version 17 or newer: JAVA_HOME, then PATH, then the usual places. None if there is none."""
    return next((java for java in _candidates() if (java_major(java) or 0) >= MINIMUM_JAVA), None)


def java_major(java: Path) -> int | None:
    """The major version this `java` reports (8 for "1.8.0"), or None if it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(version[1]) if version else None


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java"):
        yield Path(on_path)
    yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
    yield from sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home/bin/java"))
    # Homebrew does not link its OpenJDK into the directories above.
    yield from sorted(Path("/opt/homebrew/opt").glob("openjdk*/bin/java"))


if __name__ == "__main__":
    sys.exit(find_java() is None)
