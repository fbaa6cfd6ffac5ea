"""What a Spark session is made with: where it runs, and settings that start it fast and keep it on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from membership_client_spark.demo.driver_process import ALL_EXECUTORS, quick_properties
from tests.spark.clusters.environment import PYTHON_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.spark.clusters.connect_server import ConnectServer
    from tests.spark.clusters.standalone import StandaloneCluster

EVERYWHERE = quick_properties(PYTHON_PATH) | {"spark.app.name": "tests"}


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """A master's address and Spark's properties."""

    master: str
    properties: Mapping[str, str]


def local(properties: Mapping[str, str] | None = None) -> SessionSettings:
    """Two slots in the driver's JVM; a task may be tried four times, which plain `local[2]` would not allow."""
    return SessionSettings("local[2,4]", EVERYWHERE | dict(properties or {}))


def local_cluster(properties: Mapping[str, str] | None = None, *, cores: int = 1) -> SessionSettings:
    """Two executors in processes of their own, with `cores` cores each; the driver's JVM is their Master and Worker."""
    own = {"spark.executor.cores": str(cores), **(properties or {})}
    return SessionSettings(f"local-cluster[2,{cores},1024]", EVERYWHERE | ALL_EXECUTORS | own)


def standalone(cluster: StandaloneCluster, properties: Mapping[str, str] | None = None) -> SessionSettings:
    """All of the cluster: one executor per Worker, with as many slots as it has cores."""
    whole = {
        "spark.cores.max": str(cluster.size * cluster.cores),
        "spark.executor.cores": str(cluster.cores),
        "spark.executor.memory": cluster.memory,
    }
    return SessionSettings(cluster.url, EVERYWHERE | ALL_EXECUTORS | whole | dict(properties or {}))


def connected(server: ConnectServer) -> SessionSettings:
    """A client of this server, which has settings of its own."""
    return SessionSettings(server.url, {})
