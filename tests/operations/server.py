"""A real Prometheus that scrapes this process, with the rules of docs/operations made faster."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from membership_client.testing.ports import free_ports

RULES = Path(__file__).parents[2] / "docs" / "operations" / "rules.yml"

_CONFIG = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms}}
rule_files: [{rules}]
scrape_configs:
  - job_name: shop
    static_configs: [{{targets: ["127.0.0.1:{target}"]}}]
"""

_FASTER = {"m": "s", "h": "m"}


def in_fast_motion(text: str) -> str:
    """The rules, in which a minute becomes a second."""
    return re.sub(r"\b(\d+)([mh])\b", lambda found: found[1] + _FASTER[found[2]], text)


class Server:
    """The HTTP API of Prometheus."""

    def __init__(self, port: int) -> None:
        self._port = port

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an instant query; AssertionError if Prometheus refuses it."""
        found: list[dict[str, Any]] = self._get("query", query=expression)["result"]
        return found

    def firing(self) -> set[tuple[str, str]]:
        """Group and name of each alert that fires."""
        labels = [alert["labels"] for alert in self._get("alerts")["alerts"] if alert["state"] == "firing"]
        return {(found["messaging_consumer_group_name"], found["alertname"]) for found in labels}

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(self.query("up == 1"))
        return False

    def _get(self, what: str, **parameters: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self._port}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            told = json.load(answer)
        assert told["status"] == "success", told
        data: dict[str, Any] = told["data"]
        return data


@contextlib.contextmanager
def prometheus(folder: Path, target: int) -> Iterator[Server]:
    """A Prometheus that scrapes this port of this host."""
    rules, config = folder / "rules.yml", folder / "prometheus.yml"
    rules.write_text(in_fast_motion(RULES.read_text()))
    config.write_text(_CONFIG.format(rules=rules, target=target))
    (port,) = free_ports(1)
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        server, give_up_at = Server(port), time.monotonic() + 60
        while not server.is_ready():
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < give_up_at, (folder / "log").read_text()
            time.sleep(0.1)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
