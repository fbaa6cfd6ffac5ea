"""The members of this process, as exporters see them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from membership_client.runtime.rebalance_tracker import RebalanceTracker
from membership_client.runtime.worker import Worker
from membership_client.telemetry.names import Labels
from membership_client.types import Progress

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class LiveMember:
    """A member as the gauges see it: read by an exporter's thread, whenever it likes."""

    worker: Worker
    tracker: RebalanceTracker
    labels: Labels
    progress: Callable[[], Progress] | None = None
    """How far a Consumer has read."""


class LiveMembers:
    """No lock, because members are made anywhere: each change is one operation on a dict, and readers read a copy."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[LiveMember]] = {}

    def add(self, live: LiveMember) -> None:
        """For as long as another object holds it."""
        self._known[id(live)] = weakref.ref(live)

    def __iter__(self) -> Iterator[LiveMember]:
        """Members that run or will run. In a forked child the workers of the parent's members are stopped, so these are left out."""
        for key, known in self._known.copy().items():
            live = known()
            if live is None:
                self._forget(key, known)
            elif not live.worker.stopped:
                yield live

    def _forget(self, key: int, known: weakref.ref[LiveMember]) -> None:
        # Its number may have been given to a new one meanwhile.
        if self._known.get(key) is known:
            self._known.pop(key, None)

    def groups(self) -> Iterable[tuple[Labels, list[LiveMember]]]:
        """By labels: members of one group, unless member ids are among the labels."""
        found: dict[Key, list[LiveMember]] = {}
        for live in self:
            found.setdefault(tuple(live.labels.items()), []).append(live)
        return [(dict(key), group) for key, group in found.items()]
