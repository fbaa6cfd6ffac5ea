"""A real browser without a window, driven over its DevTools protocol."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.report import chromium
from tests.report.websocket import WebSocket

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--window-size=1440,900",
    "--remote-debugging-port=0",
)
_PATIENCE_S = 120.0


class Browser:
    """One process and one connection; tabs share both."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = WebSocket(port, path, _PATIENCE_S)
        self._ids = itertools.count(1)
        self.events: dict[str, list[dict[str, Any]]] = {}
        """What each tab reported, by session."""

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The answer; AssertionError with what the browser said if it refused."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while (answer := self.listen()).get("id") != number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def listen(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.receive())
        if "method" in message:
            self.events.setdefault(message.get("sessionId", ""), []).append(message)
        return message

    def close(self) -> None:
        self._socket.close()


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """RuntimeError with the command to type if this machine has none: a page nobody opened is not tested."""
    program = chromium.find()
    if program is None:
        raise RuntimeError(
            "Reports are tested in Chromium or Chrome, and none was found: run scripts/test, which installs one."
        )
    command = [program, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port, path = _address(profile / "DevToolsActivePort", process)
            with contextlib.closing(Browser(port, path)) as started:
                yield started
        finally:
            process.kill()


def _address(file: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    give_up_at = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up_at:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) == 2:
            return int(lines[0]), lines[1]
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        time.sleep(0.05)
    raise TimeoutError("The browser does not start.")
