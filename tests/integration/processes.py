"""Starts `member_process.py` and follows what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from membership_client import TopicPartition
from membership_client.testing import guard
from tests.integration.members import PATIENCE_S, Group, eventually

_ROOT = Path(__file__).parents[2]


class MemberProcess:
    """A member of `group` in a process of its own, carrying out a plan of `member_process.py`."""

    def __init__(self, group: Group, plan: str = "stay", config: Mapping[str, Any] | None = None) -> None:
        settings = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id, **(config or {})}
        task = json.dumps({"config": settings, "topics": [group.topic], "plan": plan})
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("member_process.py"), task],
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

    def wait_for(self, kind: str) -> dict[str, Any]:
        """The first line of that kind."""
        return eventually(lambda: next(iter(self.all(kind)), None), f"the process says {kind!r}, not {self.said}") or {}

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in tuple(self.said) if line["kind"] == kind]

    def wait_owning(self) -> frozenset[TopicPartition]:
        """What it owned when it was first stable with something."""
        owning = eventually(lambda: next((s for s in self.all("stable") if s["owned"]), None), "an owner in a process")
        assert owning is not None
        return partitions_in(owning["owned"])

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._process.kill()
        self.wait_ended()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM; nothing is awaited."""
        self._process.terminate()

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait_ended(self, timeout_s: float = PATIENCE_S) -> int:
        """Its exit code."""
        code = self._process.wait(timeout_s)
        self._reader.join()
        return code

    def stop(self) -> None:
        """However it stands."""
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


def partitions_in(pairs: list[tuple[str, int]]) -> frozenset[TopicPartition]:
    """As JSON has them."""
    return frozenset(TopicPartition(topic, number) for topic, number in pairs)
