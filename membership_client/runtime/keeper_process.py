"""The keeper process of this process: started when the first member needs it, shared by all, and ended with this process.

Linux only: nothing else tells a process so simply that its parent is stopped. Where it cannot be started, members go on
without it, and the log says so once.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from membership_client.keeper.messages import MOST_BYTES

logger = logging.getLogger("membership_client")

# The public package imports everything; the keeper needs a few modules of it.
_START = """\
import sys, types
for name, path in (("membership_client", sys.argv[2]), ("membership_client.net", sys.argv[2] + "/net")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
from membership_client.keeper.process import main
main()
"""


_KEPT_VARIABLES = frozenset({"LD_LIBRARY_PATH", "LD_PRELOAD", "LANG", "SSL_CERT_DIR", "SSL_CERT_FILE"})
_KEPT_PREFIXES = ("LC_", "OPENSSL_")
"""Variables of the environment that the keeper gets: what the loader, Python's decoding and OpenSSL read. Others may hold passwords."""


class CannotStartError(Exception):
    """The keeper process cannot be started; the text says why."""


class KeeperProcess:
    """Starts, uses and ends the one keeper process of this process. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self.end)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._served = False
        self._told = False

    def _after_fork(self) -> None:
        """The child has no keeper yet; it closes its copy of the parent's socket and forgets the process."""
        if self._process is not None and self._socket is not None:
            self._socket.close()
            self._process.returncode = 0  # It is the parent's child, so this process must not wait for it.
        self._forget()

    def start(self) -> None:
        """Start the process if it does not run. Takes some milliseconds; it is ready later. Raises CannotStartError."""
        with self._lock:
            self._start_once()

    def open_line(self, message: bytes, handles: list[int]) -> None:
        """Hand the keeper the sockets of a new line. Starts the process if it does not run.

        Raises:
            CannotStartError: there is no keeper on this system.
            OSError: the process has just ended.
        """
        with self._lock:
            self._start_once()
            assert self._socket is not None
            socket.send_fds(self._socket, [message], handles)

    def has_ended(self) -> bool:
        """Was the process started, and does it no longer run?"""
        with self._lock:
            return self._process is not None and self._process.poll() is not None

    def note_line_opened(self) -> None:
        """A line was opened, so the process works here: when it ends from now on, another one is started."""
        self._served = True

    def _start_once(self) -> None:
        status = None if self._process is None else self._process.poll()
        if status is not None and not self._served:
            self._process = None
            raise CannotStartError(f"it ended before it could do anything, with status {status}")
        if self._process is None or status is not None:
            self._start()

    def _start(self) -> None:
        if not Path("/proc/self/stat").exists():
            raise CannotStartError("it needs Linux, with /proc")
        if getattr(sys, "frozen", False) or not sys.executable:
            raise CannotStartError("there is no Python interpreter to run it with")
        if self._socket is not None:
            self._socket.close()
        directory = str(Path(__file__).parent.parent)
        try:
            self._socket, theirs = message_pair()
            self._served = False
            with theirs:
                # It gets a session of its own, because signals of the terminal are for the parent. Its output must hold no pipe open.
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _START, str(os.getpid()), directory],
                    env={name: value for name, value in os.environ.items() if _is_kept(name)},
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except (OSError, subprocess.SubprocessError) as error:
            why = getattr(error, "strerror", None) or error
            raise CannotStartError(f"the system starts no process: {why}") from error

    def warn_missing(self, why: str) -> None:
        """Log once per process that members go on without a keeper."""
        told, self._told = self._told, True
        if not told:
            logger.warning(
                "heartbeat.keeper=process: there is no keeper process, because %s. Members go on without: an extension that "
                "holds the interpreter's lock for longer than a session costs them their partitions.",
                why,
            )

    def end(self) -> None:
        """End the process with the interpreter, which would otherwise warn of a child that still runs."""
        if self._process is not None and self._socket is not None:
            self._socket.close()
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def message_pair() -> tuple[socket.socket, socket.socket]:
    """The first end can send the longest message, if the system allows it: by default 200 kB is the most."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_BYTES)
    return ours, theirs


def _is_kept(name: str) -> bool:
    return name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)


KEEPER = KeeperProcess()
