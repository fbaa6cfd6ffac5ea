"""A pyspark, often another than that of .venv, with the jars of a sink, for programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from membership_client.testing.jars import cache_directory

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class OtherPyspark:
    """scripts/provide.py brings both."""

    version: str | None
    """None for that of .venv."""
    jars: tuple[str, ...]
    """The names of their directories in the cache."""

    def environment(self) -> dict[str, str]:
        """For a Python of .venv that is to find this pyspark first, and the jars in $SPARK_TEST_JARS."""
        packages = [str(cache_directory() / f"pyspark-{self.version}")] if self.version else []
        jars = ",".join(
            map(str, (jar for name in self.jars for jar in sorted((cache_directory() / name).glob("*.jar"))))
        )
        return os.environ | {"PYTHONPATH": os.pathsep.join([*packages, str(ROOT)]), "SPARK_TEST_JARS": jars}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Python with these arguments. Its output is one text."""
        command = [sys.executable, *arguments]
        return subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def say(line: str) -> None:
    """For programs of this directory that people run."""
    print(line, flush=True)  # noqa: T201 - a command


DELTA = OtherPyspark("4.2.0", ("delta-4.4.0",))
"""The newest Delta Lake, and the newest pyspark that it is published for."""

POSTGRES = OtherPyspark(None, ("postgresql-jdbc-42.7.14",))

ICEBERG = OtherPyspark("4.1.4", ("iceberg-1.12.0", "postgresql-jdbc-42.7.14"))
"""The newest Iceberg, the newest pyspark that it is published for, and what its catalog needs, which is in PostgreSQL."""
