"""Where Spark's measurements happen: one broker, one local cluster of two executors, and a voice."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    spark: SparkSession
    bootstrap_servers: str
    directory: Path
    records: int
    """How many an epoch has."""
    rounds: int
    is_trial: bool
    """It only has to work, in little time, and on a machine that does something else as well."""
    patience_s: float = 600.0
    began_at: float = field(default_factory=time.monotonic)

    def say(self, what: str) -> None:
        """Progress, for whoever waits."""
        sys.stderr.write(f"{time.monotonic() - self.began_at:6.1f} s  {what}\n")
        sys.stderr.flush()
