"""Wake a thread that waits for sockets, from any thread and from signal handlers."""

from __future__ import annotations

import contextlib
import socket


class Waker:
    """A socket that becomes readable when `wake()` was called. Takes no lock, so `wake()` may interrupt `wake()`."""

    __slots__ = ("_reader", "_writer")

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)

    def fileno(self) -> int:
        return self._reader.fileno()

    def wake(self) -> None:
        """Any thread, any signal handler; never blocks, never raises, and many calls count as one."""
        # A full buffer means that a wake-up is pending already, a broken pipe that the reader is closed.
        with contextlib.suppress(OSError):
            self._writer.send(b"\0")

    def clear(self) -> None:
        """Owning thread: forget the calls so far."""
        with contextlib.suppress(BlockingIOError):
            while len(self._reader.recv(4096)) == 4096:
                pass

    def close(self) -> None:
        """Owning thread: there will be no more waits.

        The writing end stays open as long as this object exists: `wake()` may be running on another thread, and its byte
        must not go to another socket that got the same file descriptor.
        """
        self._reader.close()

    def abandon(self) -> None:
        """In a forked child, which has no other threads."""
        self._reader.close()
        self._writer.close()

    def __del__(self) -> None:
        # No thread is inside `wake()`: it would hold a reference. There is no writer if socketpair() failed.
        with contextlib.suppress(AttributeError):
            self._writer.close()
