"""The program of docs/kubernetes.md in processes, and the actions of a kubelet."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from membership_client.testing.ports import free_ports
from tests.health.probing import status
from tests.integration.members import eventually

PAGE = Path(__file__).parents[2] / "docs" / "kubernetes.md"


def program() -> str:
    """The first block of Python on the page."""
    found = re.search(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


class Pod:
    """One container. `work` is the Python code that it runs for each record."""

    def __init__(self, name: str, bootstrap_servers: str, topic: str, group: str, work: str) -> None:
        (self.port,) = free_ports(1)
        text = program().replace('"orders"', repr(topic)).replace('"shop"', repr(group)).replace("8080", str(self.port))
        text = text.replace("handle(message)", work)
        environment = {**os.environ, "POD_NAME": name, "BOOTSTRAP_SERVERS": bootstrap_servers}
        self._process = subprocess.Popen([sys.executable, "-c", text], env=environment)

    def is_ready(self) -> bool:
        assert self._process.poll() is None, "the pod has ended"
        return status(self.port, "/readyz") == 200

    def await_ready(self) -> None:
        eventually(self.is_ready, "the pod is ready")

    def terminate(self) -> None:
        """SIGTERM, as at the beginning of the grace period."""
        self._process.terminate()

    def ended(self, grace_s: float = 40.0) -> float:
        """Seconds until the process ended by itself within the grace period; killed after it, as by a kubelet."""
        began_at = time.monotonic()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
        return time.monotonic() - began_at

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        """SIGKILL, as after the grace period, or when memory runs out."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
