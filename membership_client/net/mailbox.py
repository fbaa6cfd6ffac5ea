"""Where connecting threads leave what they made."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from membership_client.net.wakeup import Waker

T = TypeVar("T")


class Arrivals(Generic[T]):
    """A mailbox with one reader, who is woken for every item, and who may go away for good."""

    __slots__ = ("_closed", "_items", "_lock", "_waker")

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._lock = threading.Lock()
        self._items: list[T] = []
        self._closed = False

    def put(self, item: T) -> bool:
        """Any thread. False if the reader has gone: the item is still the caller's."""
        with self._lock:
            if self._closed:
                return False
            self._items.append(item)
        self._waker.wake()
        return True

    def take(self) -> list[T]:
        """The reader: what arrived since the last time."""
        with self._lock:
            items, self._items = self._items, []
        return items

    def close(self) -> list[T]:
        """The reader goes, with what had arrived."""
        with self._lock:
            self._closed = True
        return self.take()

    def abandon(self) -> list[T]:
        """As `close()`, in a forked child: there a thread that is no more may hold the lock for ever."""
        self._closed = True
        return self._items
