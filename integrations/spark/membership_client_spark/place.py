"""Where a task runs: host, process, and the executor's id, which Spark does not tell Python."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

_ARGUMENT = re.compile(rb"--executor-id\0([^\0]+)\0")
_LOG_URL = re.compile(r"executorId=([^&]+)")


def place() -> dict[str, str | int | None]:
    """For people to look at, and for the driver to know which slots an executor takes with it."""
    return {"host": os.environ.get("SPARK_LOCAL_HOSTNAME") or _host(), "pid": os.getpid(), "executor": executor_id()}


def executor_id() -> str | None:
    """None in local mode, where the driver is the executor, and where nothing tells."""
    told = os.environ.get("SPARK_EXECUTOR_ID") or _in_log_url(os.environ.get("SPARK_LOG_URL_STDERR", ""))
    return told or _in_arguments(os.getppid())


def _host() -> str:
    return os.environ.get("SPARK_LOCAL_IP") or socket.gethostname()


def _in_log_url(url: str) -> str | None:
    found = _LOG_URL.search(url)
    return found[1] if found else None


def _in_arguments(daemon: int) -> str | None:
    """Of the daemon's parent: a Python worker is a child of a daemon, and the daemon one of the executor's JVM."""
    try:
        stat = Path(f"/proc/{daemon}/stat").read_text()
        jvm = stat.rpartition(")")[2].split()[1]
        found = _ARGUMENT.search(Path(f"/proc/{jvm}/cmdline").read_bytes())
    except (OSError, IndexError):
        return None
    return found[1].decode() if found else None
