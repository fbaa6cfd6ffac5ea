"""What a Spark session is made with: where it runs, and settings that start it fast and keep it on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.spark.clusters.environment import PYTHON_PATH, QUICK_JVM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.spark.clusters.connect_server import ConnectServer
    from tests.spark.clusters.standalone import StandaloneCluster

_EVERYWHERE = {
    "spark.app.name": "tests",
    "spark.driver.extraJavaOptions": QUICK_JVM,
    "spark.driver.host": "127.0.0.1",
    "spark.executor.extraJavaOptions": QUICK_JVM,
    "spark.executorEnv.PYTHONPATH": PYTHON_PATH,
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# The first job waits for all executors: a test then finds one slot on each, not several on whichever came first.
_ALL_EXECUTORS = {
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "90s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """A master's address and Spark's properties."""

    master: str
    properties: Mapping[str, str]


def local(properties: Mapping[str, str] | None = None) -> SessionSettings:
    """Two slots in the driver's JVM; a task may be tried four times, which plain `local[2]` would not allow."""
    return SessionSettings("local[2,4]", _EVERYWHERE | dict(properties or {}))


def local_cluster(properties: Mapping[str, str] | None = None) -> SessionSettings:
    """Two executors in processes of their own, with one slot each; the driver's JVM is their Master and Worker."""
    return SessionSettings("local-cluster[2,1,1024]", _EVERYWHERE | _ALL_EXECUTORS | dict(properties or {}))


def standalone(cluster: StandaloneCluster, properties: Mapping[str, str] | None = None) -> SessionSettings:
    """All of the cluster: one executor per Worker, with as many slots as it has cores."""
    whole = {
        "spark.cores.max": str(cluster.size * cluster.cores),
        "spark.executor.cores": str(cluster.cores),
        "spark.executor.memory": cluster.memory,
    }
    return SessionSettings(cluster.url, _EVERYWHERE | _ALL_EXECUTORS | whole | dict(properties or {}))


def connected(server: ConnectServer) -> SessionSettings:
    """A client of this server, which has settings of its own."""
    return SessionSettings(server.url, {})
