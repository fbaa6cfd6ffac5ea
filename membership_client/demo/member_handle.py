"""The process of a member, as the demonstration starts, hears and ends it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import membership_client
from membership_client.demo.events import (
    Complained,
    LeaveRequest,
    MemberRole,
    ProcessEnded,
    Started,
    decode_report,
    encode_leave,
    encode_role,
)

if TYPE_CHECKING:
    from membership_client.demo.recording import Recording

_LEAVE_TIMEOUT_S = 10.0


class MemberHandle:
    """One process, started by the constructor, so that its owner can end it whatever happens before `begin`."""

    def __init__(self, role: MemberRole, recording: Recording) -> None:
        self._role = role
        self._recording = recording
        self._readers: list[threading.Thread] = []
        self._process = subprocess.Popen(
            # -P keeps the current directory, whose file names are the user's, off the new process's import path.
            [sys.executable, "-P", "-m", "membership_client.demo.member_process", encode_role(role)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
            # Ctrl-C must reach the demonstration only, which then ends its members.
            start_new_session=True,
        )
        self._pid = self._process.pid

    def begin(self) -> None:
        """Records its start, and from now on its reports."""
        role = self._role
        self._recording.add(Started(at=time.monotonic(), name=role.name, pid=self._pid, instance_id=role.instance_id))
        for read in (self._read_reports, self._read_errors):
            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            self._readers.append(reader)

    def leave(self, leave: LeaveRequest) -> None:
        """Asks it to leave and end; returns at once. Does nothing if it has ended, for example because a user killed it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(encode_leave(leave) + "\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """SIGKILL, and returns when its end is recorded; does nothing to a process that has ended."""
        self._process.kill()
        self.join()

    def close_input(self) -> None:
        """Closes its input, so that it leaves and ends; returns at once."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def join(self, timeout_s: float = _LEAVE_TIMEOUT_S) -> None:
        """Waits until it has ended and all its reports are recorded. Kills it after `timeout_s`."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()

    def _read_reports(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):  # SIGKILL may cut the last line.
                self._recording.add(decode_report(line))
        code = self._process.wait()
        self._recording.add(ProcessEnded(at=time.monotonic(), name=self._role.name, pid=self._pid, code=code))

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if text := line.strip():
                self._recording.add(Complained(at=time.monotonic(), name=self._role.name, pid=self._pid, text=text))


def _environment() -> dict[str, str]:
    """The environment of this process, with the directory of this package first in PYTHONPATH."""
    package = str(Path(membership_client.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
