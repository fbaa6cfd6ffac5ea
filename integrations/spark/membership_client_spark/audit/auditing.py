"""`audit()`: the public entry point."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

from membership_client import ConfigError
from membership_client.arguments import shown
from membership_client_spark.arguments import checked_path, checked_seconds, checked_session
from membership_client_spark.audit.files import listing
from membership_client_spark.audit.result import Audit

SKEW_S = 2.0
"""By how much the clocks of two machines are taken to differ unless somebody knows better."""


def audit(
    spark: SparkSession, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, skew_s: float = SKEW_S
) -> Audit:
    """What the members did whose traces are there: files, folders with all that is in them, or patterns.

    Compressed files, rotated ones and copies are welcome. Only the names of files are looked at now.
    NoTracesError if a path matches nothing.
    """
    checked_session(spark)
    skew_s = checked_seconds("skew_s", skew_s)
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if isinstance(paths, bytes | Mapping | type) or not isinstance(paths, Iterable):
        raise ConfigError(f"paths must be a path or a list of paths, not {shown(paths)}.")
    found = tuple(checked_path("paths: each of them", path) for path in paths)
    return Audit(spark, found, listing(spark, found), skew_s)
