"""What we need of a Spark session, the same for classic sessions and for Spark Connect."""

from __future__ import annotations

import socket
from typing import Any, cast
from urllib.parse import urlparse

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from membership_client_spark.checks import Get


def setting(spark: SparkSession) -> Get:
    """Looks up one setting of the session or its application."""
    return lambda key: spark.conf.get(key, None)


def driver_host(spark: SparkSession) -> str:
    """The address of this process that executors can reach."""
    get = setting(spark)
    if is_connect(spark):
        server = urlparse(get("spark.remote") or "").hostname or "127.0.0.1"
        return _interface_towards(server)
    return get("spark.driver.bindAddress") or get("spark.driver.host") or "127.0.0.1"


def is_connect(spark: SparkSession) -> bool:
    """Told by its class's home, because importing that class needs packages that classic Spark does not."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_decommissioning(spark: SparkSession, executor: str) -> bool:
    """Whether Spark is about to take this executor away. A client of Spark Connect cannot know, and says no."""
    if is_connect(spark):
        return False
    try:
        scheduler = cast("Any", spark.sparkContext)._jsc.sc().taskScheduler()  # noqa: SLF001 - Python has no other way
        return bool(scheduler.getExecutorDecommissionState(executor).isDefined())
    except (PySparkException, AttributeError):
        return False


def _interface_towards(host: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))  # Nothing is sent: the system only picks the interface.
        return cast("str", probe.getsockname()[0])
