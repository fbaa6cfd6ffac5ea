"""Hadoop's file systems, as Spark itself finds them for a path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from membership_client_spark.spark_session import is_connect

_URI = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):(?://[^/]*)?(.*)")
"""As Hadoop reads it: nothing is escaped."""


def with_scheme(spark: SparkSession, path: str) -> str:
    """The path as Spark reads it: one without a scheme is on the session's `fs.defaultFS`.

    Over Spark Connect the client cannot ask for that setting; there a path without a scheme is one of local files.
    """
    if _URI.fullmatch(path):
        return path
    if is_connect(spark):
        return f"file://{Path(path).absolute()}"
    place = hadoop_fs(spark).Path(path)
    return cast("str", place.getFileSystem(hadoop_configuration(spark)).makeQualified(place).toString())


def scheme_and_file(place: str) -> tuple[str, str]:
    """The scheme of what `with_scheme` returned, and the path without scheme and host."""
    found = _URI.fullmatch(place)
    assert found, f"Hadoop gives every path a scheme, but not {place}"
    return found[1].lower(), found[2]


def hadoop_fs(spark: SparkSession) -> Any:
    """The Java package org.apache.hadoop.fs in the driver's JVM. Not for Spark Connect."""
    return cast("Any", spark)._jvm.org.apache.hadoop.fs  # noqa: SLF001 - Python has no other way to Hadoop


def hadoop_configuration(spark: SparkSession) -> Any:
    """With what was set in this session, as for Spark's own reads and writes. Not for Spark Connect."""
    return cast("Any", spark)._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - as above
