"""Writes the history of one instance that runs with a real client."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from membership_client.testing.kit.history import What
from membership_client.types import TopicPartition


class Add(Protocol):
    """Writes a line of the history."""

    def __call__(self, instance: str, what: What, **more: Any) -> None: ...


class Recorder:
    """Any thread may use it. `released` is called when a revoke has returned, with the instance and the partitions."""

    def __init__(self, instance: str, add: Add, released: Callable[[str, tuple[TopicPartition, ...]], None]) -> None:
        self._instance = instance
        self._add = add
        self._released = released
        self.is_in_callback = False

    def add(self, what: What, **more: Any) -> None:
        self._add(self._instance, what, **more)

    @contextlib.contextmanager
    def callback(self, what: What, partitions: tuple[TopicPartition, ...], text: str) -> Iterator[None]:
        """Around a callback: when it begins, and how it ends."""
        self.add(what, partitions=partitions, text=text)
        self.is_in_callback = True
        try:
            yield
        except BaseException as error:
            self.add(What.RAISED, partitions=partitions, text=repr(error))
            raise
        finally:
            self.is_in_callback = False
        self.add(What.RETURNED, partitions=partitions)
        if what is What.REVOKED:
            self._released(self._instance, partitions)
