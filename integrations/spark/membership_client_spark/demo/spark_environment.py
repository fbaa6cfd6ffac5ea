"""Environment and settings of a small Spark on this machine: pip's pyspark, this Python, nothing of a Spark of the caller."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""For JVMs that live for seconds: the optimising compiler and a concurrent collector would only cost start-up time."""

ALL_EXECUTORS = {
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "90s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}
"""The first job waits for all executors: else several slots would run on the executor that is ready first."""


def environment(directory: Path, java: Path, python_path: str, host: str = "127.0.0.1") -> dict[str, str]:
    """The environment of a process on `host`; all that Spark writes is under `directory`."""
    foreign = ("SPARK_", "PYSPARK_", "HADOOP_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "JAVA_HOME": str(java.resolve().parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": python_path,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        "SPARK_HOME": str(spark_home(directory)),
        "SPARK_LAUNCHER_OPTS": QUICK_JVM,
        "SPARK_LOCAL_DIRS": str(directory / "blocks"),
        "SPARK_LOCAL_IP": host,
    }


def quick_properties(python_path: str) -> dict[str, str]:
    """Settings for any session: it starts fast and listens on this machine only."""
    return {
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": QUICK_JVM,
        "spark.executorEnv.PYTHONPATH": python_path,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def spark_home(directory: Path) -> Path:
    """A Spark home under `directory`, with links to pip's: Spark writes into its home, which must not be site-packages."""
    home = directory / "spark-home"
    if not home.exists():
        home.mkdir(parents=True)
        for entry in _installed().iterdir():
            (home / entry.name).symlink_to(entry)
    return home


def _installed() -> Path:
    pyspark = find_spec("pyspark")
    assert pyspark is not None, "membership_client_spark cannot be imported without pyspark"
    assert pyspark.origin is not None
    return Path(pyspark.origin).parent
