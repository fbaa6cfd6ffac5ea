"""A YARN with several NodeManagers in one JVM, Hadoop's own MiniYARNCluster, whose containers are real processes."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]

from membership_client.testing.jars import cache_directory
from tests.spark.clusters.sessions import EVERYWHERE, SessionSettings

HADOOP_VERSION = "3.5.0"

_SETTINGS = {
    "fs.defaultFS": "file:///",
    # The default scheduler would need a file of queues.
    "yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler",
    "yarn.scheduler.minimum-allocation-mb": "256",
    # A NodeManager that ends says nothing; by default YARN waits for it for ten minutes.
    "yarn.nm.liveness-monitor.expiry-interval-ms": "20000",
    "yarn.resourcemanager.am.max-attempts": "5",
    "yarn.nodemanager.resource.memory-mb": "4096",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    # A full disk of the machine must not make a node unhealthy.
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
}


class MiniYarn:
    """Runs while it is entered, with everything it writes under `home`. `configuration` is for YARN_CONF_DIR."""

    def __init__(self, home: Path, nodes: int = 2) -> None:
        self._home = home
        self._nodes = nodes
        self.configuration = home / "conf"

    def __enter__(self) -> Self:
        self.configuration.mkdir(parents=True)
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=self._launch()))
        java = self._gateway.jvm
        settings = java.org.apache.hadoop.yarn.conf.YarnConfiguration()
        for key, value in {**_SETTINGS, "hadoop.tmp.dir": str(self._home / "tmp")}.items():
            settings.set(key, value)
        self._cluster: Any = java.org.apache.hadoop.yarn.server.MiniYARNCluster("tests", self._nodes, 1, 1)
        self._cluster.init(settings)
        self._cluster.start()
        file = java.java.io.FileOutputStream(str(self.configuration / "yarn-site.xml"))
        self._cluster.getConfig().writeXml(file)
        file.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.stop()
        self._gateway.shutdown()

    def _launch(self) -> int:
        """The port of a JVM that ends with this process."""
        jars = _pyspark() / "jars"
        found = cache_directory() / f"yarn-{HADOOP_VERSION}"
        self._log = (self._home / "yarn.log").open("a")
        port: int = launch_gateway(
            jarpath=str(next(jars.glob("py4j-*.jar"))),
            classpath=f"{found}/*:{jars}/*",
            javaopts=["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
            die_on_exit=True,
            redirect_stdout=self._log,
            redirect_stderr=self._log,
            cwd=str(self._home),
        )
        return port

    def stop_node(self, number: int) -> None:
        """A NodeManager ends, and its containers with it."""
        self._cluster.getNodeManager(number).stop()

    @staticmethod
    def node_of(pid: int) -> int:
        """The number of the NodeManager that runs a container with this process: it is in the container's directory."""
        directory = str(Path(f"/proc/{pid}/cwd").readlink())
        found = re.search(r"-nm-(\d+)_", directory)
        assert found is not None, directory
        return int(found[1])

    def session(self) -> SessionSettings:
        """The driver in its own process, two executors with one core each."""
        own = {
            "spark.submit.deployMode": "client",
            "spark.executor.instances": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.yarn.am.memory": "512m",
            "spark.yarn.jars": f"local:{_pyspark()}/jars/*",
            "spark.yarn.stagingDir": f"file://{self._home}/staging",
            "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
        }
        return SessionSettings("yarn", EVERYWHERE | own)


def _pyspark() -> Path:
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent
