"""Records that were read and not yet handed out. They are not the application's yet, so nothing may count them as read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from confluent_kafka import Message

from membership_client.types import TopicPartition


class Records:
    """Any thread. Errors wait in line with the records, each for one taker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: deque[Message | BaseException] = deque()
        self._paused: frozenset[TopicPartition] = frozenset()

    def put(self, items: Iterable[Message | BaseException]) -> None:
        with self._lock:
            self._items.extend(items)

    def take(self, count: int) -> list[Message]:
        """Up to that many, none of a paused partition; or raises the error that is first in line."""
        taken: list[Message] = []
        held_back: list[Message] = []
        with self._lock:
            while self._items and len(taken) < count:
                item = self._items[0]
                if isinstance(item, BaseException) and taken:
                    break
                self._items.popleft()
                if isinstance(item, BaseException):
                    self._items.extendleft(reversed(held_back))
                    raise item
                (held_back if self._paused and _place(item) in self._paused else taken).append(item)
            self._items.extendleft(reversed(held_back))
        return taken

    def __len__(self) -> int:
        """How many can be taken."""
        with self._lock:
            if not self._paused:
                return len(self._items)
            return sum(isinstance(item, BaseException) or _place(item) not in self._paused for item in self._items)

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """They are others' now, or to be read from elsewhere."""
        gone = frozenset(partitions)
        with self._lock:
            self._paused -= gone
            self._items = deque(i for i in self._items if isinstance(i, BaseException) or _place(i) not in gone)

    def clear(self) -> None:
        with self._lock:
            self._items.clear()

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        with self._lock:
            self._paused |= frozenset(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        with self._lock:
            self._paused -= frozenset(partitions)

    def firsts(self) -> dict[tuple[str | None, int | None], int]:
        """The offset of the first record in line, by topic and partition."""
        with self._lock:
            items = [i for i in self._items if not isinstance(i, BaseException) and i.error() is None]
        return {_place(message): message.offset() or 0 for message in reversed(items)}


def _place(message: Message) -> tuple[str | None, int | None]:
    """Equal to the TopicPartition; an error of no partition has none."""
    return (message.topic(), message.partition())
