"""The members of this process whose gauges are read, held weakly: one that is closed or collected disappears."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.runtime.worker import Worker
from membership_client.telemetry.labels import Labels
from membership_client.telemetry.rebalance_tracker import Follower


@dataclass(frozen=True, eq=False)
class Watched:
    """A member as the gauges see it: read by an exporter's thread, whenever it likes."""

    worker: Worker
    follower: Follower
    labels: Labels


class Roster:
    """No lock, because members are made anywhere: each change is one operation on a dict, and readers read a copy."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Watched]] = {}

    def add(self, watched: Watched) -> None:
        """For as long as somebody else holds it."""
        self._known[id(watched)] = weakref.ref(watched)

    def __iter__(self) -> Iterator[Watched]:
        """Those that run, or will. Not those of a forked process's parent: their workers are stopped in the child."""
        for key, known in self._known.copy().items():
            watched = known()
            if watched is None:
                self._forget(key, known)
            elif not watched.worker.stopped:
                yield watched

    def _forget(self, key: int, known: weakref.ref[Watched]) -> None:
        # Its number may have been given to a new one meanwhile.
        if self._known.get(key) is known:
            self._known.pop(key, None)
