"""A Python script in a process of its own that reports what it does in lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from membership_client.testing import guard
from tests.integration.members import PATIENCE_S

_ROOT = Path(__file__).parents[2]


class SpeakingProcess:
    """Runs the script with the task as its argument; every line it prints is in `said`."""

    def __init__(self, script: Path, task: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, script, json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
        )
        guard.watch_process(self._process.pid)
        self.said: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send the signal; nothing is awaited."""
        self._process.send_signal(number)

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait_ended(self, timeout_s: float = PATIENCE_S) -> int:
        """Its exit code."""
        code = self._process.wait(timeout_s)
        self._reader.join()
        return code

    def stop(self) -> None:
        """Kill the process if it still runs."""
        self._process.kill()
        self.wait_ended()
        guard.forget_process(self._process.pid)
        self.end_input()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(json.loads(line))
