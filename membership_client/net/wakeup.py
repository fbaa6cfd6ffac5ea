"""Wake a thread that waits for sockets, from any thread and from signal handlers; and hand items to it."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Generic, TypeVar


class Wakeup:
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


T = TypeVar("T")


class Mailbox(Generic[T]):
    """Has one reader, which is woken for every item, and which may close it."""

    __slots__ = ("_closed", "_items", "_lock", "_wakeup")

    def __init__(self, wakeup: Wakeup) -> None:
        self._wakeup = wakeup
        self._lock = threading.Lock()
        self._items: list[T] = []
        self._closed = False

    def put(self, item: T) -> bool:
        """Any thread. False if the mailbox is closed: the caller keeps the item."""
        with self._lock:
            if self._closed:
                return False
            self._items.append(item)
        self._wakeup.wake()
        return True

    def take(self) -> list[T]:
        """The reader: the items since the last call."""
        with self._lock:
            items, self._items = self._items, []
        return items

    def close(self) -> list[T]:
        """The reader: refuse all further items, and return those that are there."""
        with self._lock:
            self._closed = True
        return self.take()

    def abandon(self) -> list[T]:
        """As `close()`, in a forked child, where the lock may be held by a thread that the child does not have."""
        self._closed = True
        return self._items
