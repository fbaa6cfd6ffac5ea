"""A standalone Spark cluster from pip's pyspark: one Master and several Workers, each on a host of its own."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.spark.clusters.daemon import START_TIMEOUT_S, Daemon, SparkStartError
from tests.spark.clusters.environment import environment
from tests.spark.clusters.executors import Executor, executors_in
from tests.spark.clusters.logs import tail
from tests.spark.clusters.processes import end_paused_children, family

if TYPE_CHECKING:
    from collections.abc import Iterator

_MASTER_HOST = "127.0.0.1"


class StandaloneCluster:
    """A Master on 127.0.0.1 and Workers on 127.0.0.2, 127.0.0.3 and so on: to Spark these are different hosts.

    Each Worker offers `cores` and `memory`. A Worker's host is its name here. Logs and work directories are under
    `directory`, which is the caller's to remove. No process outlives ours, even if it is killed.
    """

    def __init__(self, directory: Path, workers: int = 3, cores: int = 1, memory: str = "1g") -> None:
        self.size = workers
        self.cores = cores
        self.memory = memory
        self._directory = directory
        self._environment = environment(directory)
        self._serials = count(1)
        self._master: Daemon | None = None
        self._workers: dict[str, Daemon] = {}
        self._web_port = 0
        self.url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts everything; returns when the Master knows all Workers."""
        try:
            self._start_master()
            for number in range(self.size):
                self._start_worker(f"127.0.0.{number + 2}")
            self._await_workers()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends every process of the cluster, executors included, without ceremony."""
        for daemon in self._daemons():
            daemon.stop()
        self._workers = {}

    @property
    def hosts(self) -> list[str]:
        """Those that have a Worker, running or not."""
        return list(self._workers)

    def worker(self, host: str) -> Daemon:
        """The host's Worker process; its family are its executors and their Python processes."""
        return self._workers[host]

    def executors(self) -> list[Executor]:
        """All that run at this moment, of any application."""
        return [executor for worker in self._workers.values() for executor in executors_in(worker.pid)]

    def pids(self) -> list[int]:
        """Of every process of the cluster at this moment: Master, Workers, executors and their Python processes."""
        return [process.pid for daemon in self._daemons() for process in family(daemon.pid)]

    def lose_host(self, host: str) -> None:
        """SIGKILL to the Worker and all its executors at once; the host has no Worker from now on."""
        self._workers.pop(host).stop()

    def start_worker(self, host: str) -> None:
        """Starts a Worker on a host that has none; returns when the Master knows it."""
        assert host not in self._workers, f"{host} has a Worker; use lose_host first"
        self._start_worker(host)
        self._await_workers()

    def restore(self) -> None:
        """Undoes what a test did: ends what it paused, removes Workers it added, replaces those it lost."""
        for host, worker in tuple(self._workers.items()):
            end_paused_children(worker.pid)
            if worker.has_ended or worker.is_paused or host not in self._home_hosts():
                self.lose_host(host)
        for host in self._home_hosts() - self._workers.keys():
            self._start_worker(host)
        self._await_workers()

    def registered_hosts(self) -> set[str]:
        """The hosts of the Workers that the Master takes for alive."""
        connection = HTTPConnection(_MASTER_HOST, self._web_port, timeout=10)
        try:
            connection.request("GET", "/json/")
            state = json.load(connection.getresponse())
        finally:
            connection.close()
        return {worker["host"] for worker in state["workers"] if worker["state"] == "ALIVE"}

    def logs(self) -> list[Path]:
        """The logs of the Master, of all Workers there ever were, and of all executors."""
        return sorted(self._directory.glob("*/*.log")) + sorted(self._directory.glob("*/app-*/*/stderr"))

    def _home_hosts(self) -> set[str]:
        return {f"127.0.0.{number + 2}" for number in range(self.size)}

    def _daemons(self) -> Iterator[Daemon]:
        yield from self._workers.values()
        if self._master is not None:
            yield self._master

    def _start_master(self) -> None:
        arguments = ["--host", _MASTER_HOST, "--port", "0", "--webui-port", "0"]
        log = self._directory / "master" / "master.log"
        self._master = Daemon(self._command("master.Master", *arguments), self._environment, log)
        self.url = self._master.wait_to_log(r"Starting Spark master at (spark://\S+)")[1]
        self._web_port = int(self._master.wait_to_log(r"Bound MasterWebUI to .*:(\d+)")[1])

    def _start_worker(self, host: str) -> None:
        name = f"worker-{next(self._serials)}-on-{host}"
        place = self._directory / name
        offer = ["--host", host, "--cores", str(self.cores), "--memory", self.memory]
        arguments = [*offer, "--webui-port", "0", "--work-dir", str(place), self.url]
        self._workers[host] = Daemon(
            self._command("worker.Worker", *arguments),
            self._environment | {"SPARK_LOCAL_IP": host},
            place / f"{name}.log",
        )

    def _command(self, main_class: str, *arguments: str) -> list[str]:
        script = Path(self._environment["SPARK_HOME"], "bin", "spark-class")
        return [str(script), f"org.apache.spark.deploy.{main_class}", *arguments]

    def _await_workers(self) -> None:
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while (registered := self._try_registered_hosts()) != self._workers.keys():
            hopeless = [worker for worker in self._workers.values() if worker.has_ended]
            if hopeless or time.monotonic() > give_up_at:
                raise SparkStartError(
                    f"of the Workers on {self.hosts} the Master knows {registered}; the logs end:\n{self._tails()}"
                )
            time.sleep(0.05)

    def _try_registered_hosts(self) -> set[str]:
        try:
            return self.registered_hosts()
        except (OSError, HTTPException):
            return set()

    def _tails(self) -> str:
        return "\n".join(f"--- {log.stem}\n{tail(log)}" for log in (daemon.log_file for daemon in self._daemons()))
