"""The process of Spark's driver, as the demonstration starts, hears and ends it, and the small Spark that it uses.

That Spark is pip's pyspark with this Python, and takes nothing from a Spark of the caller.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from membership_client_spark.demo.events import DriverReport, DriverTask, decode_report, encode_task
from membership_client_spark.demo.processes import Executor, end_family, executors_in

_TAIL_LINES = 30


class DriverFailedError(RuntimeError):
    """The driver ended before it had counted the orders, or reports nothing any more. The message ends with its log."""


class DriverProcess:
    """A context in which the driver runs. At its end the driver, its JVM and the executors, one family, are killed."""

    def __init__(self, task: DriverTask, directory: Path, java: Path) -> None:
        directory.mkdir()
        self._log = directory / "driver.log"
        self._said: queue.Queue[DriverReport | None] = queue.Queue()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "membership_client_spark.demo.driver", encode_task(task)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=directory,
                env=environment(directory, java, task.python_path),
                start_new_session=True,
            )
        self._listener = threading.Thread(target=self._hear, daemon=True)

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        end_family(self._process.pid)
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def next_report(self, timeout_s: float) -> DriverReport | None:
        """The next report of the driver; None if there is none within this time. DriverFailedError if it has ended."""
        try:
            said = self._said.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if said is None:
            raise self.failure("Spark's driver ended before it had counted the orders.")
        return said

    def executors(self) -> list[Executor]:
        """The executors that run at this moment."""
        return list(executors_in(self._process.pid))

    def failure(self, what: str) -> DriverFailedError:
        lines = self._log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        return DriverFailedError("\n".join([f"{what} Its log ends:", *lines]))

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(os.linesep):  # SIGKILL may cut the last line.
                self._said.put(decode_report(line))
        self._said.put(None)


# --- environment and settings of a small Spark on this machine -------------------------------------------------------

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""For JVMs that live for seconds: the optimising compiler and a concurrent collector would only cost start-up time."""

ALL_EXECUTORS = {
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "90s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}
"""The first job waits for all executors: else several slots would run on the executor that is ready first."""


def environment(directory: Path, java: Path, python_path: str, host: str = "127.0.0.1") -> dict[str, str]:
    """The environment of a process on `host`; all that Spark writes is under `directory`."""
    foreign = ("SPARK_", "PYSPARK_", "HADOOP_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "JAVA_HOME": str(java.resolve().parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": python_path,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        "SPARK_HOME": str(spark_home(directory)),
        "SPARK_LAUNCHER_OPTS": QUICK_JVM,
        "SPARK_LOCAL_DIRS": str(directory / "blocks"),
        "SPARK_LOCAL_IP": host,
    }


def quick_properties(python_path: str) -> dict[str, str]:
    """Settings for any session: it starts fast and listens on this machine only."""
    return {
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": QUICK_JVM,
        "spark.executorEnv.PYTHONPATH": python_path,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def spark_home(directory: Path) -> Path:
    """A Spark home under `directory`, with links to pip's: Spark writes into its home, which must not be site-packages."""
    home = directory / "spark-home"
    if not home.exists():
        home.mkdir(parents=True)
        for entry in _installed().iterdir():
            (home / entry.name).symlink_to(entry)
    return home


def _installed() -> Path:
    pyspark = find_spec("pyspark")
    assert pyspark is not None, "membership_client_spark cannot be imported without pyspark"
    assert pyspark.origin is not None
    return Path(pyspark.origin).parent
