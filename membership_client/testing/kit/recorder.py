"""Writes the history of one instance that runs with a real client."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

from membership_client.testing.kit.history import What
from membership_client.types import TopicPartition


class Group(Protocol):
    """Where the history is, and the coordinator's view."""

    def add(self, instance: str, what: What, **more: Any) -> None: ...
    def released(self, instance: str, partitions: tuple[TopicPartition, ...]) -> None: ...


class Recorder:
    """Any thread may use it."""

    def __init__(self, group: Group, instance: str) -> None:
        self._group = group
        self._instance = instance

    def add(self, what: What, **more: Any) -> None:
        self._group.add(self._instance, what, **more)

    @contextlib.contextmanager
    def callback(self, what: What, partitions: tuple[TopicPartition, ...], text: str) -> Iterator[None]:
        """Around a callback: when it begins, and how it ends."""
        self.add(what, partitions=partitions, text=text)
        try:
            yield
        except BaseException as error:
            self.add(What.RAISED, partitions=partitions, text=repr(error))
            raise
        self.add(What.RETURNED, partitions=partitions)
        if what is What.REVOKED:
            self._group.released(self._instance, partitions)
