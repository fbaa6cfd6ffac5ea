"""A Spark driver in a process of its own: its JVM's options are fixed at its start, and tests want to kill it."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.integration.speaking import SpeakingProcess
from tests.spark.clusters.environment import environment
from tests.spark.clusters.executors import Executor, executors_in
from tests.spark.clusters.logs import tail
from tests.spark.clusters.processes import end_family, is_running, signal_family, watch_family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.spark.clusters.sessions import SessionSettings

PATIENCE_S = 120.0
"""How long a driver may take to say something: it may first have to start a JVM, executors and Python workers."""


class DriverProcess(SpeakingProcess):
    """Runs `program`, a file that uses `driving.py` to get its session and its task and to say what happens.

    The process, its JVM and, in local modes, the executors are one family. Its other output is in `log_file`.
    """

    def __init__(
        self, program: Path, settings: SessionSettings, directory: Path, task: Mapping[str, Any] | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.log_file = directory / f"{program.stem}.log"
        start = {
            "program": str(program),
            "log": str(self.log_file),
            "environment": environment(directory),
            "settings": asdict(settings),
            "task": dict(task or {}),
        }
        super().__init__(Path(__file__).with_name("start_driver.py"), start)
        watch_family(self.pid)

    def all(self, kind: str) -> list[dict[str, Any]]:
        """What it said of that kind, so far."""
        return [line for line in tuple(self.said) if line["kind"] == kind]

    def wait_for(self, kind: str, number: int = 1, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Its `number`-th line of that kind. Fails at once if it has ended without."""
        give_up_at = time.monotonic() + timeout_s
        while len(self.all(kind)) < number:
            state = "ended" if not is_running(self.pid) else "waited for" if time.monotonic() > give_up_at else ""
            if state and len(self.all(kind)) < number:
                raise AssertionError(f"driver {state}, has not said {kind!r} but {self.said}:\n{tail(self.log_file)}")
            time.sleep(0.02)
        return self.all(kind)[number - 1]

    def executors(self) -> list[Executor]:
        """Those of a local cluster; a standalone cluster's belong to its Workers."""
        return list(executors_in(self.pid))

    def logs(self) -> list[Path]:
        """Its own, and those of a local cluster's executors."""
        return [self.log_file, *sorted(self.log_file.parent.glob("spark-home/work/app-*/*/stderr"))]

    def kill(self) -> None:
        """SIGKILL to Python and the JVM at once, as when the driver's host is lost."""
        signal_family(self.pid, signal.SIGKILL)

    def pause(self) -> None:
        """SIGSTOP to Python and the JVM."""
        signal_family(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT to Python and the JVM."""
        signal_family(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        """However it stands; nothing of its family is left."""
        end_family(self.pid)
        super().stop()
