"""An archive of the classes that Spark's JVMs load, so that they start in half the time.

`python -m tests.spark.clusters.class_archive` makes it, once for each Java and each pyspark; it is Java's own class data
sharing. Without it all is as well, only later.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pyspark

from membership_client.testing import find_java
from membership_client.testing.jars import cache_directory
from tests.spark.clusters.environment import ROOT, environment

_LONGEST_S = 300.0


def options() -> dict[str, str]:
    """For the environment of whatever starts JVMs. One whose classes lie elsewhere says nothing, and does without."""
    archive = _archive()
    if not archive.exists() or not archive.stat().st_size:
        return {}
    return {"JDK_JAVA_OPTIONS": f"-XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"}


def _archive() -> Path:
    """Java checks the jars by itself, and warns; another name for others keeps it quiet."""
    java = find_java()
    assert java, "Java 17 or newer was not found. Run scripts/test, which installs it or says how."
    status = java.resolve().stat()
    key = zlib.crc32(
        f"{java.resolve()} {status.st_size} {status.st_mtime_ns} {Path(pyspark.__file__).resolve()}".encode()
    )
    return cache_directory() / f"spark-{pyspark.__version__}-{key:08x}.jsa"


def make_once() -> None:
    archive = _archive()
    if archive.exists():
        return
    print("  teaching Java to start Spark twice as fast, a minute once", flush=True)  # noqa: T201 - progress
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warm-", dir=archive.parent) as scratch:
        made = Path(scratch, "classes.jsa")
        command = [sys.executable, "-m", "tests.spark.clusters.warming", str(made)]
        environ, silence = environment(Path(scratch)), subprocess.DEVNULL
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, cwd=ROOT, env=environ, timeout=_LONGEST_S, check=False, stdout=silence, stderr=silence
            )
        # A Java without class data sharing leaves nothing: the empty file says that this has been tried.
        made.touch()
        # Renamed, so that a run that ends in between leaves no half-written file behind.
        made.rename(archive)


if __name__ == "__main__":
    make_once()
