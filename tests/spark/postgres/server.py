"""A PostgreSQL server of the tests' own: on a free port of 127.0.0.1, with a directory that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from tests.spark.postgres.programs import postgres_programs

USER, PASSWORD = "shop", "a secret of the tests"

_START_S = 120.0
_QUICK = ("-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_wal_size=256MB")
"""A crash of the server's processes loses nothing for all that: the system has what they wrote."""


class PostgresServer:
    """Runs while it is entered. It refuses to run as root; then it runs as nobody."""

    def __init__(self) -> None:
        found = postgres_programs()
        assert found is not None, "scripts/provide.py postgres brings it"
        self._programs = found
        self._user: dict[str, Any] = (
            {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid} if os.getuid() == 0 else {}
        )

    def __enter__(self) -> Self:
        self._home = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._log = self._home / "log"
        secret = self._home / "password"
        secret.write_text(PASSWORD)
        if self._user:
            for place in (self._home, secret):
                shutil.chown(place, **self._user)
        initdb: list[str | Path] = [
            self._programs / "initdb",
            "-D",
            self._data,
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
        ]
        self._run(*initdb, "--no-sync", "-E", "UTF8", "--locale=C")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGINT)  # Its fast shutdown: clients are cut off.
        self._process.wait()
        shutil.rmtree(self._home)

    @property
    def _data(self) -> Path:
        return self._home / "data"

    def start(self) -> None:
        command: list[str | Path] = [
            self._programs / "postgres",
            "-D",
            self._data,
            "-p",
            str(self.port),
            "-h",
            "127.0.0.1",
            "-k",
            self._home,
        ]
        with self._log.open("a") as log:
            self._process = subprocess.Popen([*command, *_QUICK], stdout=log, stderr=log, cwd=self._home, **self._user)
        give_up_at = time.monotonic() + _START_S
        ready: list[str | Path] = [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode != 0:
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < give_up_at, self._log.read_text()
            time.sleep(0.1)

    def crash(self) -> None:
        """Its processes end at once, as after a loss of power; what was committed is there after `start`."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def url(self, database: str = "postgres") -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{database}"

    @property
    def properties(self) -> dict[str, str]:
        return {"user": USER, "password": PASSWORD}

    @property
    def whole_url(self) -> str:
        """With user and password."""
        return f"{self.url()}?user={USER}&password={quote(PASSWORD)}"

    def logs(self) -> list[Path]:
        return [self._log]

    def _run(self, *command: str | Path) -> None:
        ended = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._home,
            check=False,
            **self._user,
        )
        assert ended.returncode == 0, ended.stdout
