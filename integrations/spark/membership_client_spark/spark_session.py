"""What we need of a Spark session, the same for classic sessions and for Spark Connect."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, cast

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from membership_client_spark.checks import Get


def setting(spark: SparkSession) -> Get:
    """Looks up one setting of the session or its application."""
    return lambda key: spark.conf.get(key, None)


@dataclass(frozen=True, slots=True)
class DriverHost:
    """The process that has the leases: on which address it listens, and under which one executors reach it."""

    bind: str
    advertised: str


def driver_host(spark: SparkSession) -> DriverHost:
    """Of this process. A client of Spark Connect is reached the way it reaches its server."""
    if not is_connect(spark):
        return host_in_settings(setting(spark))
    here = _interface_towards(server_host(spark))
    return DriverHost(here, here)


def host_in_settings(get: Get) -> DriverHost:
    """As Spark itself does it: it may listen on an address that means nothing elsewhere, 0.0.0.0 or a container's.

    Spark writes IPv6 addresses in brackets, which sockets do not take.
    """
    advertised = _without_brackets(get("spark.driver.host") or "127.0.0.1")
    return DriverHost(_without_brackets(get("spark.driver.bindAddress") or advertised), advertised)


def _without_brackets(host: str) -> str:
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def server_host(spark: SparkSession) -> str:
    """The Connect server's. Settings do not tell: those of a client are its server's."""
    return cast("str", cast("Any", spark).client.host).strip("[]")


def is_connect(spark: SparkSession) -> bool:
    """Told by its class's home, because importing that class needs packages that classic Spark does not."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def tag_jobs(spark: SparkSession, tag: str) -> None:
    """All jobs that this thread starts from now on can be cancelled by the tag."""
    if is_connect(spark):
        spark.addTag(tag)
    else:
        spark.sparkContext.addJobTag(tag)


def cancel_jobs(spark: SparkSession, tag: str) -> None:
    """On any thread. A classic session's interruptTag() would know the tags of its own thread only."""
    if is_connect(spark):
        spark.interruptTag(tag)
    else:
        spark.sparkContext.cancelJobsWithTag(tag)


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
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # Nothing is sent: the system only picks the interface.
            return cast("str", probe.getsockname()[0])
    except OSError:  # A proxy's name, perhaps. Slots that cannot reach us rely on fencing alone.
        return "127.0.0.1"
