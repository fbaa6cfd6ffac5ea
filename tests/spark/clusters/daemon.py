"""A Spark process that serves until it is stopped: a Master, a Worker, a Connect server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from tests.spark.clusters.logs import tail
from tests.spark.clusters.processes import end_family, is_paused, send, signal_family, watch_family

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

START_TIMEOUT_S = 120
"""Seconds on an idle machine; the bound is for a machine that runs everything else at once."""


class SparkStartError(RuntimeError):
    """A process of Spark's did not come up. The message ends with the last lines of its log."""


class Daemon:
    """Runs at once. With all that it starts in turn it is a family of its own, which never outlives our process."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self.log_file = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                env=environment,
                start_new_session=True,
            )
        watch_family(self.pid)

    @property
    def pid(self) -> int:
        """Its own, and its family's."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """By itself or by our hand. It is not waited for, so that its pid stays its own until `stop`."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    @property
    def is_paused(self) -> bool:
        """By SIGSTOP."""
        return is_paused(self.pid)

    def wait_to_log(self, pattern: str) -> re.Match[str]:
        """The first place in its log that matches."""
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while not (found := re.search(pattern, self.log_file.read_text(errors="replace"))):
            if self.has_ended:
                raise SparkStartError(f"{self.log_file.stem} ended before it served. Its log ends:\n{self._tail()}")
            if time.monotonic() > give_up_at:
                raise SparkStartError(f"{self.log_file.stem} does not serve after {START_TIMEOUT_S} s:\n{self._tail()}")
            time.sleep(0.02)
        return found

    def signal(self, number: signal.Signals) -> None:
        """To it alone. Nothing is awaited."""
        send(self.pid, number)

    def pause(self) -> None:
        """SIGSTOP to the whole family: connections stay open, nothing answers, as on a host that hangs."""
        signal_family(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT to the whole family."""
        signal_family(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        """SIGKILL to the whole family, as when its host is lost; returns when all of it is gone."""
        if self._process.returncode is None:
            end_family(self.pid)
            self._process.wait()

    def _tail(self) -> str:
        return tail(self.log_file)
