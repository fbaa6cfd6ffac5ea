"""The demonstration's end of a member's process."""

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
from membership_client.demo.happenings import Complained, ProcessEnded, Started
from membership_client.demo.wire import Leave, MemberRole, decode_told, encode_leave, encode_role

if TYPE_CHECKING:
    from membership_client.demo.recording import Recording

_LEAVE_TIMEOUT_S = 10.0


class MemberHandle:
    """One process, which exists from the first: whoever makes an actor sees to its end before it may begin."""

    def __init__(self, role: MemberRole, recording: Recording) -> None:
        self._role = role
        self._recording = recording
        self._ears: list[threading.Thread] = []
        self._process = subprocess.Popen(
            # -P keeps the current directory, whose file names are the user's, off the new process's import path.
            [sys.executable, "-P", "-m", "membership_client.demo.member_process", encode_role(role)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
            # Ctrl-C is for the demonstration, which then ends its members itself.
            start_new_session=True,
        )
        self._pid = self._process.pid

    def begin(self) -> None:
        """Records its start, and from now on what it says."""
        role = self._role
        self._recording.add(Started(at=time.monotonic(), name=role.name, pid=self._pid, instance_id=role.instance_id))
        for listens in (self._hear, self._overhear):
            ear = threading.Thread(target=listens, daemon=True)
            ear.start()
            self._ears.append(ear)

    def leave(self, leave: Leave) -> None:
        """Asks it to leave and end; returns at once. One that died meanwhile, perhaps by a curious hand, cannot."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(encode_leave(leave) + "\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """SIGKILL, and returns when its end is recorded; does nothing to a process that has ended."""
        self._process.kill()
        self.join()

    def dismiss(self) -> None:
        """Ends its input, so that it leaves and ends by itself; returns at once."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def join(self, timeout_s: float = _LEAVE_TIMEOUT_S) -> None:
        """Waits until it has ended and all it said is recorded. One that takes longer than that is killed."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for ear in self._ears:
            ear.join()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):  # SIGKILL may cut the last one short.
                self._recording.add(decode_told(line))
        code = self._process.wait()
        self._recording.add(ProcessEnded(at=time.monotonic(), name=self._role.name, pid=self._pid, code=code))

    def _overhear(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if text := line.strip():
                self._recording.add(Complained(at=time.monotonic(), name=self._role.name, pid=self._pid, text=text))


def _environment() -> dict[str, str]:
    """Ours, and the package found where we found it."""
    package = str(Path(membership_client.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
