"""The environment Spark's processes run in: pip's pyspark, this Python, this project, and nothing of the caller's Spark."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from membership_client.testing.java import find_java
from membership_client_spark.demo import driver_process

ROOT = Path(__file__).parents[3]


def _other_pyspark() -> list[Path]:
    """The directory of the pyspark that this process has instead of .venv's (tests/spark/versions)."""
    found = find_spec("pyspark")
    packages = Path(found.origin).parents[1] if found and found.origin else Path(sys.prefix)
    return [] if packages.is_relative_to(sys.prefix) else [packages]


PYTHON_PATH = os.pathsep.join(
    map(str, (Path(__file__).with_name("as_installed"), *_other_pyspark(), ROOT, ROOT / "integrations" / "spark"))
)
"""What drivers and executors can import: the project, its integration and the tests; and not what only tests have."""


def environment(directory: Path, host: str = "127.0.0.1") -> dict[str, str]:
    """For a process that runs on `host`; whatever Spark keeps on disk is under `directory`."""
    java = find_java()
    assert java, "Java 17 or newer was not found. Run scripts/test, which installs it or says how."
    return driver_process.environment(directory, java, PYTHON_PATH, host)
