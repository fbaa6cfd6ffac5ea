"""An archive of the classes that Spark's JVMs load, so that they start in half the time.

`python -m tests.spark.clusters.class_archive` makes it, once for each Java and each pyspark; it is Java's own class data
sharing. Without it all is as well, only later.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

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


def make_once() -> None:
    archive = _archive()
    if archive.exists():
        return
    print("  teaching Java to start Spark twice as fast, a minute once", flush=True)  # noqa: T201 - progress
    archive.parent.mkdir(parents=True, exist_ok=True)
    # Renamed in the end, so that a run that ends in between leaves no half-written file behind.
    made = archive.with_name(f"{os.getpid()}.jsa")
    command = [sys.executable, "-m", "tests.spark.clusters.warming", str(made)]
    environ, silence = environment(archive.parent), subprocess.DEVNULL
    # A session of its own, because its JVM would outlive it otherwise when time is up.
    warming = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=silence, stderr=silence, start_new_session=True)
    try:
        warming.wait(_LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(warming.pid, signal.SIGKILL)
        warming.wait()
    # A Java without class data sharing leaves nothing: the empty file says that this has been tried.
    made.touch()
    made.rename(archive)


def _archive() -> Path:
    """Beside the Spark home that it was made in: Java compares its jars with those it finds there."""
    java = find_java()
    assert java, "Java 17 or newer was not found. Run scripts/test, which installs it or says how."
    pyspark = find_spec("pyspark")
    assert pyspark, "pyspark was not found. Run scripts/provide.py spark, which installs it."
    status = java.resolve().stat()
    key = zlib.crc32(f"{java.resolve()} {status.st_size} {status.st_mtime_ns} {pyspark.origin}".encode())
    return cache_directory() / f"spark-{version('pyspark')}-{key:08x}" / "classes.jsa"


if __name__ == "__main__":
    make_once()
