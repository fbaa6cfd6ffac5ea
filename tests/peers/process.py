"""A peer in a process of its own, which can be killed; started here, run by `peer_process.py`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from membership_client import TopicPartition
from membership_client.testing import guard
from tests.peers.history import History
from tests.peers.peer import PeerKind, Seat

_ROOT = Path(__file__).parents[2]


class PeerProcess:
    """Joins at once. Its history arrives here with the times at which it happened there."""

    def __init__(self, kind: PeerKind, seat: Seat) -> None:
        self.seat = seat
        self.history = History()
        self._member_id = ""
        # A Java consumer's process has a JVM for a child: one session, so that both die at one blow.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.peers.peer_process", kind, json.dumps(asdict(seat))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            text=True,
            start_new_session=True,
        )
        guard.watch_process(self._process.pid)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def member_id(self) -> str:
        return self._member_id

    @property
    def error(self) -> str | None:
        code = self._process.poll()
        return None if code in {None, 0} else f"ended with code {code}"

    def kill(self) -> float:
        """SIGKILL; returns when it happened, which is also the end of whatever it held."""
        os.killpg(self._process.pid, signal.SIGKILL)
        at = time.monotonic()
        self._end()
        self.history.add("died", (), at)
        return at

    def leave(self) -> None:
        """As told at the end of its input. May be repeated, also after a kill."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._end()

    def _end(self) -> None:
        self._process.wait()
        self._reader.join()
        guard.forget_process(self._process.pid)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            self._member_id = said["member_id"]
            self.history.add(said["kind"], (TopicPartition(*pair) for pair in said["partitions"]), said["at"])
