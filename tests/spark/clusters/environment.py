"""The environment Spark's processes run in: pip's pyspark, this Python, this project, and nothing of the caller's Spark."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from membership_client.testing.java import find_java

ROOT = Path(__file__).parents[3]

PYTHON_PATH = os.pathsep.join(map(str, (ROOT, ROOT / "integrations" / "spark")))
"""What drivers and executors can import: the project, its integration and the tests."""

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""A test's JVM lives for seconds: the optimising compiler and a concurrent collector would only cost start-up time."""


def environment(directory: Path, host: str = "127.0.0.1") -> dict[str, str]:
    """For a process that runs on `host`; whatever Spark keeps on disk is under `directory`."""
    java = find_java()
    assert java, "Java 17 or newer was not found. Run scripts/test, which installs it or says how."
    foreign = ("SPARK_", "PYSPARK_", "HADOOP_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "JAVA_HOME": str(java.resolve().parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": PYTHON_PATH,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        "SPARK_HOME": str(spark_home(directory)),
        "SPARK_LAUNCHER_OPTS": QUICK_JVM,
        "SPARK_LOCAL_DIRS": str(directory / "blocks"),
        "SPARK_LOCAL_IP": host,
    }


def spark_home(directory: Path) -> Path:
    """A Spark home under `directory` that looks like pip's. Spark writes into its home, which must not be site-packages."""
    home = directory / "spark-home"
    if not home.exists():
        home.mkdir(parents=True)
        for entry in _installed().iterdir():
            (home / entry.name).symlink_to(entry)
    return home


def _installed() -> Path:
    pyspark = find_spec("pyspark")
    assert pyspark is not None, "pyspark is not installed. Run scripts/test, which installs it."
    assert pyspark.origin is not None
    return Path(pyspark.origin).parent
