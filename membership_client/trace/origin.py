"""Where a trace comes from: enough to find the process that had an instance id."""

from __future__ import annotations

import os
import socket
import sys


def origin() -> dict[str, str | int]:
    """The origin of the calling process and thread. Of the environment only the names that orchestrators give."""
    found: dict[str, str | int | None] = {
        "client": _version(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "pod": os.environ.get("POD_NAME") or (os.environ.get("HOSTNAME") if _in_kubernetes() else None),
        "spark": _spark_task(),
    }
    return {key: value for key, value in found.items() if value is not None}


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - takes long: it loads email and zipfile

    try:
        return version("membership-client")
    except PackageNotFoundError:
        return "unknown"


def _in_kubernetes() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _spark_task() -> str | None:
    """Only where a Spark worker has loaded pyspark already; other processes do not pay for the import."""
    pyspark = sys.modules.get("pyspark")
    task = pyspark.TaskContext.get() if pyspark is not None else None
    if task is None:
        return None
    # A job of one task always has partition 0, so the Spark integration says which slot it is.
    part = os.environ.get("MEMBERSHIP_CLIENT_SLOT") or f"partition {task.partitionId()}"
    return f"{part}, stage {task.stageId()}, attempt {task.attemptNumber()}"
