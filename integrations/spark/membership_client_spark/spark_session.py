"""What slots, pipelines and audits need of a Spark session, for classic sessions and for Spark Connect."""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from membership_client_spark.arguments import Get


def setting(spark: SparkSession) -> Get:
    """A function that looks up one setting of the session or its application."""
    return lambda key: spark.conf.get(key, None)


@dataclass(frozen=True, slots=True)
class DriverHost:
    """The addresses of the process that has the leases: where it listens, and where executors reach it."""

    bind: str
    advertised: str


def driver_host(spark: SparkSession) -> DriverHost:
    """The addresses of this process. A client of Spark Connect is reached at the interface by which it reaches its server."""
    if not is_connect(spark):
        return host_in_settings(setting(spark))
    here = _interface_towards(server_host(spark))
    return DriverHost(here, here)


def host_in_settings(get: Get) -> DriverHost:
    """By the same settings as Spark: it may listen on an address that others cannot use, such as 0.0.0.0 or a container's.

    Spark writes IPv6 addresses in brackets, which sockets do not take.
    """
    advertised = _without_brackets(get("spark.driver.host") or "127.0.0.1")
    return DriverHost(_without_brackets(get("spark.driver.bindAddress") or advertised), advertised)


def _without_brackets(host: str) -> str:
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def server_host(spark: SparkSession) -> str:
    """The host of the Connect server. The settings of a client do not have it: they are those of the server."""
    return cast("str", cast("Any", spark).client.host).strip("[]")


def is_connect(spark: SparkSession) -> bool:
    """By the module of its class: importing the class itself needs packages that classic Spark does not need."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def default_parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as it is known; 1 over Spark Connect, whose clients cannot ask."""
    return 1 if is_connect(spark) else spark.sparkContext.defaultParallelism


def numbers_of_unknown_size(spark: SparkSession, count: int) -> DataFrame:
    """The numbers from 0, each in a task of its own, as a DataFrame of which Spark does not know the size.

    Spark knows the size of `spark.range`. It would take the records that a task makes of a number for small, too, and broadcast
    them in joins. Over Spark Connect there is only `spark.range`.
    """
    numbers = spark.range(0, count, 1, count)
    if is_connect(spark):
        return numbers
    frame, session = cast("Any", numbers)._jdf, cast("Any", spark)._jsparkSession  # noqa: SLF001 - Python has no other way
    return DataFrame(session.createDataFrame(frame.toDF().toJavaRDD(), frame.schema()), cast("Any", spark))


@contextmanager
def described_jobs(spark: SparkSession, text: str) -> Iterator[None]:
    """Jobs that this thread starts have the text in Spark's UI, afterwards what they had before. Nothing over Spark Connect."""
    if is_connect(spark):
        yield
        return
    context, key = spark.sparkContext, "spark.job.description"
    before = context.getLocalProperty(key)
    context.setJobDescription(text)
    try:
        yield
    finally:
        with suppress(Exception):  # The application may have ended meanwhile, which the error in hand says better.
            context.setJobDescription(cast("str", before))


@contextmanager
def unlogged() -> Iterator[None]:
    """py4j logs all that this thread sends to the JVM at DEBUG, and options may be secrets."""
    thread = threading.get_ident()
    loggers = [logging.getLogger(f"py4j.{module}") for module in ("clientserver", "java_gateway")]

    def is_other(record: logging.LogRecord) -> bool:
        return record.thread != thread

    for logger in loggers:
        logger.addFilter(is_other)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_other)


def tag_jobs(spark: SparkSession, tag: str) -> None:
    """From now on, all jobs that this thread starts have the tag, by which `cancel_jobs` ends them."""
    if is_connect(spark):
        spark.addTag(tag)
    else:
        spark.sparkContext.addJobTag(tag)


def cancel_jobs(spark: SparkSession, tag: str) -> None:
    """On any thread. interruptTag() of a classic session would cancel jobs of its own thread only."""
    if is_connect(spark):
        spark.interruptTag(tag)
    else:
        spark.sparkContext.cancelJobsWithTag(tag)


def is_decommissioning(spark: SparkSession, executor: str) -> bool:
    """Whether Spark is about to take this executor away. False over Spark Connect, whose clients cannot ask."""
    if is_connect(spark):
        return False
    try:
        scheduler = cast("Any", spark.sparkContext)._jsc.sc().taskScheduler()  # noqa: SLF001 - Python has no other way
        return bool(scheduler.getExecutorDecommissionState(executor).isDefined())
    except (PySparkException, AttributeError):
        return False


def _interface_towards(host: str) -> str:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # Nothing is sent: the system only chooses the interface.
            return cast("str", probe.getsockname()[0])
    except OSError:  # For example the name of a proxy. Slots that cannot reach the driver rely on fencing alone.
        return "127.0.0.1"


# --- file systems, as Spark itself finds them for a path -------------------------------------------------------------

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
