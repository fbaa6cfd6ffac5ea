"""The entrance."""

from __future__ import annotations

import os
from collections.abc import Iterable

from pyspark.sql import SparkSession

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
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    found = tuple(os.fspath(path) for path in paths)
    return Audit(spark, found, listing(spark, found), skew_s)
