"""Writes the history of one instance that runs with a real client."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from membership_client.testing.kit.history import What
from membership_client.types import TopicPartition


class Add(Protocol):
    """Adds an entry to the history."""

    def __call__(self, instance: str, what: What, **more: Any) -> None: ...


class Recorder:
    """Adds entries of one instance. For any thread. `released` is called with the instance and partitions after a revoke has returned."""

    def __init__(self, instance: str, add: Add, released: Callable[[str, tuple[TopicPartition, ...]], None]) -> None:
        self._instance = instance
        self._add = add
        self._released = released
        self.is_in_callback = False

    def add(self, what: What, **more: Any) -> None:
        self._add(self._instance, what, **more)

    @contextlib.contextmanager
    def callback(self, what: What, partitions: tuple[TopicPartition, ...], text: str) -> Iterator[None]:
        """Runs a callback in its `with` block, and notes its beginning and end."""
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
