"""The members of this process whose gauges are read, held weakly: one that is closed or collected disappears."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass

from membership_client.runtime.worker import Worker
from membership_client.telemetry.labels import Labels
from membership_client.telemetry.rebalance_tracker import RebalanceTracker


@dataclass(frozen=True, eq=False)
class LiveMember:
    """A member as the gauges see it: read by an exporter's thread, whenever it likes."""

    worker: Worker
    tracker: RebalanceTracker
    labels: Labels


class LiveMembers:
    """No lock, because members are made anywhere: each change is one operation on a dict, and readers read a copy."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[LiveMember]] = {}

    def add(self, live: LiveMember) -> None:
        """For as long as another object holds it."""
        self._known[id(live)] = weakref.ref(live)

    def __iter__(self) -> Iterator[LiveMember]:
        """Members that run, or will. Not those of a forked process's parent: their workers are stopped in the child."""
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
