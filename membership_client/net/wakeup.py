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
        """Wake the thread that waits. Any thread, any signal handler; never blocks, never raises; many calls count as one."""
        # A full buffer means that a wake-up is pending already, a broken pipe that the reader is closed.
        with contextlib.suppress(OSError):
            self._writer.send(b"\0")

    def clear(self) -> None:
        """Forget the calls so far. For the owning thread."""
        with contextlib.suppress(BlockingIOError):
            while len(self._reader.recv(4096)) == 4096:
                pass

    def close(self) -> None:
        """End the waits. For the owning thread.

        The writing end stays open as long as this object exists: `wake()` may be running on another thread, and its byte
        must not go to another socket that got the same file descriptor.
        """
        self._reader.close()

    def abandon(self) -> None:
        """Like `close()`, for a forked child, which has no other threads."""
        self._reader.close()
        self._writer.close()

    def __del__(self) -> None:
        # No thread is inside `wake()`: it would hold a reference. There is no writer if socketpair() failed.
        with contextlib.suppress(AttributeError):
            self._writer.close()


T = TypeVar("T")


class Mailbox(Generic[T]):
    """Hands items from any thread to one reader, which is woken for each, and which may close the mailbox."""

    __slots__ = ("_closed", "_items", "_lock", "_wakeup")

    def __init__(self, wakeup: Wakeup) -> None:
        self._wakeup = wakeup
        self._lock = threading.Lock()
        self._items: list[T] = []
        self._closed = False

    def put(self, item: T) -> bool:
        """Hand an item to the reader. Any thread. False if the mailbox is closed: the caller keeps the item."""
        with self._lock:
            if self._closed:
                return False
            self._items.append(item)
        self._wakeup.wake()
        return True

    def take(self) -> list[T]:
        """The items since the last call. For the reader."""
        with self._lock:
            items, self._items = self._items, []
        return items

    def close(self) -> list[T]:
        """Refuse all further items, and return those that are there. For the reader."""
        with self._lock:
            self._closed = True
        return self.take()

    def abandon(self) -> list[T]:
        """Like `close()`, for a forked child, in which a thread that the child does not have may hold the lock."""
        self._closed = True
        return self._items
