"""Starts `reading_process.py`, and stops, signals and kills it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from membership_client.testing import guard
from tests.consumer.diaries import Diary
from tests.integration.members import PATIENCE_S

_ROOT = Path(__file__).parents[2]


class ReadingProcess:
    """Runs `reading_process.py`."""

    def __init__(self, config: dict[str, Any], topic: str, style: str, diary: Path) -> None:
        self.diary = Diary(diary)
        base = {"auto.commit.interval.ms": 300, "max.poll.interval.ms": 60_000, "trace.file": f"{diary}.trace"}
        task = json.dumps({"config": base | config, "topic": topic, "style": style, "diary": str(diary)})
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.consumer.reading_process", task],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(_ROOT)},
        )
        guard.watch_process(self._process.pid)

    def send(self, number: signal.Signals) -> None:
        if number is signal.SIGKILL:
            self.diary.stopped_at.append(time.monotonic())
        self._process.send_signal(number)

    def stop(self) -> None:
        self.send(signal.SIGSTOP)

    def go_on(self) -> None:
        self.send(signal.SIGCONT)

    def hold_interpreter(self) -> None:
        """As an extension does that never lets go of it: all of Python stands still, and librdkafka does not."""
        self.send(signal.SIGUSR1)

    def let_go_of_interpreter(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def end(self, number: signal.Signals) -> int:
        """Its exit code."""
        self.send(signal.SIGCONT)
        self.send(number)
        code = self._process.wait(PATIENCE_S)
        if self._process.stdin is not None:
            self._process.stdin.close()
        guard.forget_process(self._process.pid)
        return code
