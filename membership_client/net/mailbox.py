"""Mailbox: connecting threads put their connections into it, and the membership thread takes them out."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from membership_client.net.wakeup import Waker

T = TypeVar("T")


class Mailbox(Generic[T]):
    """Has one reader, which is woken for every item, and which may close it."""

    __slots__ = ("_closed", "_items", "_lock", "_waker")

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._lock = threading.Lock()
        self._items: list[T] = []
        self._closed = False

    def put(self, item: T) -> bool:
        """Any thread. False if the mailbox is closed: the caller keeps the item."""
        with self._lock:
            if self._closed:
                return False
            self._items.append(item)
        self._waker.wake()
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
