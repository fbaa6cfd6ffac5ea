"""Long work under way: which partitions must not be taken away behind its back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from membership_client.types import TopicPartition


class Holds:
    """Any thread."""

    def __init__(self) -> None:
        self._held: list[frozenset[TopicPartition] | None] = []

    def __bool__(self) -> bool:
        return bool(self._held)

    @contextlib.contextmanager
    def hold(self, partitions: frozenset[TopicPartition] | None) -> Iterator[None]:
        """None holds all of them."""
        self._held.append(partitions)
        try:
            yield
        finally:
            self._held.remove(partitions)

    def spare(self, partitions: tuple[TopicPartition, ...]) -> bool:
        """Is none of these held?"""
        return all(held is not None and held.isdisjoint(partitions) for held in tuple(self._held))
