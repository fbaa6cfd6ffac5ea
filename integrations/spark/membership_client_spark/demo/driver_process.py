"""The process of Spark's driver, as the demonstration starts, hears and ends it."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

from membership_client_spark.demo.events import DriverReport, DriverTask, decode_report, encode_task
from membership_client_spark.demo.processes import Executor, end_family, executors_in
from membership_client_spark.demo.spark_environment import environment

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
